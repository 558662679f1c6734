import CBOR
import Foundation
import JournalMaintenance
import Locks
import TestSupport
import Testing

@testable import CatalogModel
@testable import Journaling

/// Declared indexes are in layers, so that a query after an opening need not wait for them.
@Suite(.disabled(if: TestLength.isUnderSanitizer)) struct LayeredIndexTests {
  @Test func theIndexesOfLayersEqualThoseOfAScan() throws {
    try withRecipes { recipes in
      for round in 0..<12 {
        try recipes.grow(5)
        if round % 3 == 0 { recipes.journal.waitForLayers() }
        if round % 4 == 3 { try recipes.reopen() }
        let revision = Int.random(in: 1...recipes.journal.head.revision, using: &recipes.random)
        for state in [recipes.journal.state, try recipes.journal.state(asOf: .revision(revision))] {
          try recipes.expectIndexes(of: state)
        }
      }
      recipes.journal.waitForLayers()
      #expect(try recipes.journal.statistics().writeAmplification > 1)
      #expect(try recipes.journal.verify(.deep).problems.map(\.description) == [])
    }
  }

  @Test func aQueryAfterAnOpeningAnswersAsANaiveFilterDoes() throws {
    try withRecipes { recipes in
      // So many that a query does not wait for its index.
      try recipes.journal.commit { draft in
        for _ in 0..<4_500 { try draft.insert(Recipe.random(using: &recipes.random)) }
      }
      for _ in 0..<2 {
        try recipes.grow(10)
        recipes.journal.waitForLayers()
        try recipes.reopen()
        let state = recipes.journal.state
        #expect(recipes.index(Recipe.indexedPaths.values[0], in: state) != nil)
        let all = try state.items(ofKind: Recipe.kind).map { (id: $0.id, recipe: try $0.decode(Recipe.self)) }
        for _ in 0..<10 { try QueryTests.compare(state, all, using: &recipes.random) }
        #expect(state.indexProblems() == [])
      }
    }
  }

  @Test func anIndexDeclaredLaterIsAddedToAllLayersAndRemovedWhenNoLongerDeclared() throws {
    try withRecipes(declares: false) { recipes in
      recipes.journal.waitForLayers()
      #expect(recipes.journal.chain.layers.allSatisfy { $0.indexes.isEmpty })
      // A query declares the index. When the next layer is written, the others get the index too.
      _ = try recipes.journal.state.items(Recipe.self).filter(\.stars == 1).count
      try recipes.grow(30)
      recipes.journal.waitForLayers()
      // A state keeps the layers that it is backed by.
      try recipes.reopen()
      try recipes.expectIndexes(of: recipes.journal.state)
      // A process that declares no index, such as the command line or an app before its first query, keeps those
      // that there are.
      try recipes.grow(30)
      recipes.journal.waitForLayers()
      try recipes.expectIndexes(of: recipes.journal.state)
      // A version of the app whose type declares fewer.
      try recipes.reopen()
      _ = try recipes.journal.state.items(ScannedRecipe.self).filter(\.stars == 1).count
      try recipes.grow(60)
      recipes.journal.waitForLayers()
      #expect(recipes.journal.chain.layers.last?.indexes == [])
      #expect(recipes.index(Recipe.indexedPaths.values[0], in: recipes.journal.state) == nil)
      #expect(try recipes.journal.verify(.deep).problems.map(\.description) == [])
    }
  }

  @Test func aDamagedLayerCostsTimeAndNoLineOfAnIndex() throws {
    try withRecipes { recipes in
      // Opening reads a small layer whole, and then no damage is found later. So one is made large, and damaged.
      try recipes.journal.commit { draft in
        for _ in 0..<400 { try draft.insert(Recipe.random(using: &recipes.random)) }
      }
      try recipes.grow(60)
      recipes.journal.waitForLayers()
      // Pages are read when they are touched, so damage is found in the middle of an answer.
      recipes.options.layers.memoryByteCount = 0
      var rebuilt = 0
      var rounds = 0
      // The damage may be where no answer looks.
      while rounds < 20 || rebuilt == 0 && rounds < 200 {
        rounds += 1
        try recipes.reopen()
        let state = recipes.journal.state
        let layers = recipes.journal.chain.layers
        let layer = try #require(layers.max { $0.eventCount < $1.eventCount })
        let file = recipes.url.appending(path: "snapshots/\(layer.name.fileName)")
        let good = try Data(contentsOf: file)
        let damage = Int.random(in: 0..<good.count, using: &recipes.random)
        try good.changingInPlace(at: damage, of: file)
        // A layer that failed is replayed, and has no index until it is written again.
        try recipes.expectIndexes(of: state, ofAllLayers: false)
        if layers.contains(where: \.isRebuilt) { rebuilt += 1 }
        #expect(state.failure == nil)
        try recipes.journal.close()
        try good.write(to: file)
      }
      #expect(rebuilt > 0)
    }
  }

  /// Queries of an old state and of the newest one in turns used to compare the two each time.
  @Test func twoStatesThatAreQueriedInTurnsAreComparedOnce() throws {
    try withRecipes { recipes in
      recipes.options.layers.memoryByteCount = 0
      try recipes.reopen()
      func commit() throws {
        try recipes.journal.commit { draft in
          for _ in 0..<100 { try draft.insert(Recipe.random(using: &recipes.random)) }
        }
        recipes.journal.waitForLayers()
      }
      try commit()
      let old = recipes.journal.state
      for _ in 0..<3 { try commit() }
      func count(_ state: Catalog) throws -> Int {
        try state.items(Recipe.self).filter(\.stars == 3).count
      }
      let (oldCount, newCount) = try (count(old), count(recipes.journal.state))
      for _ in 0..<2 {
        let layers = recipes.journal.chain.layers
        for layer in layers { layer.freePages() }
        let pages = layers.map(\.pageByteCount)
        for _ in 0..<3 {
          #expect(try count(old) == oldCount)
          #expect(try count(recipes.journal.state) == newCount)
        }
        #expect(layers.map(\.pageByteCount) == pages)
        // The newest state leaves the old one its index.
        for _ in 0..<60 { try recipes.journal.commit { _ = try $0.addItem(kind: "book") } }
        recipes.journal.waitForLayers()
        #expect(try count(recipes.journal.state) == newCount)
      }
      for state in [old, recipes.journal.state] { #expect(state.indexProblems() == []) }
    }
  }

  /// The first query after an import waited until the index had all of its items.
  @Test func afterManyChangesAnIndexIsBuiltInTheBackground() async throws {
    var history = CatalogHistory()
    func insert(_ count: Int) throws {
      try history.commit { draft in
        for number in 0..<count { try draft.insert(Recipe(title: "\(number)", stars: number % 5)) }
      }
    }
    try insert(5_000)
    try history.state.buildIndexes(of: Recipe.self)
    let definition = IndexDefinition(IndexScope(itemsOfKind: Recipe.kind), Recipe.indexedPaths.values[1])
    func hasIndex(_ state: Catalog) -> Bool {
      state.indexCache.existingIndex(definition, in: state.itemTable) != nil
    }
    try insert(4_000)
    #expect(hasIndex(history.state))
    try insert(6_000)
    let state = history.state
    #expect(!hasIndex(state))
    #expect(try state.items(Recipe.self).filter(\.stars == 3).count == 3_000)
    // A limit that only a failure reaches.
    for _ in 0..<6_000 where !hasIndex(state) { try await Task.sleep(for: .milliseconds(100)) }
    #expect(hasIndex(state))
    #expect(try state.items(Recipe.self).filter(\.stars == 3).count == 3_000)
    #expect(state.indexProblems() == [])
  }

  /// Each value set up the index again, which reads all changes since the layers.
  @Test func aQueryWithManyConditionsOnOnePropertySetsUpItsIndexOnce() throws {
    try withRecipes { recipes in
      // So many that a query does not wait for its index.
      try recipes.journal.commit { draft in
        for _ in 0..<4_500 { try draft.insert(Recipe.random(using: &recipes.random)) }
      }
      recipes.journal.waitForLayers()
      try recipes.reopen()
      var state = recipes.journal.state
      let base = CountedBase(try #require(state.itemTable.base))
      state.itemTable = EntityTable(base: base)
      #expect(recipes.index(Recipe.indexedPaths.values[0], in: state) != nil)
      let titles = ["Soup", "Stew"] + (0..<100).map { "none \($0)" }
      let found = try state.items(Recipe.self).filter(.isOne(of: titles, \.title)).count
      // Once above, once by the query, and once by the build in the background.
      #expect(base.indexCount <= 3)
      #expect(
        try found == state.items(ScannedRecipe.self).filter(.isOne(of: titles, \.title)).count && found > 0)
    }
  }

  /// Two states over the same layers were compared with each other by each query.
  @Test func twoStatesOverOneBaseThatAreQueriedInTurnsAreComparedOnce() throws {
    var history = CatalogHistory()
    try history.commit { draft in
      for number in 0..<100 { try draft.insert(Recipe(title: "\(number)", stars: number % 5)) }
    }
    try history.rebaseNewestState()
    var old = history.state
    let base = CountedBase(try #require(old.itemTable.base))
    old.itemTable = EntityTable(base: base)
    var new = old
    for number in 1...20 {
      let row = try #require(old.itemTable[number + 1])
      new.itemTable.update(number, to: row)
    }
    func counts() throws -> [Int] {
      try [old, new].map { try $0.items(Recipe.self).filter(\.stars == 3).count }
    }
    let first = try counts()
    let rowCount = base.rowCount
    for _ in 0..<3 { #expect(try counts() == first) }
    #expect(base.rowCount == rowCount)
    for state in [old, new] { #expect(state.indexProblems() == []) }
  }

  /// Two equal items in the answer of a watched query used to end the process.
  @Test(.timeLimit(.minutes(60))) func anItemThatAForgedIndexListsTwiceEndsNoWatchedQuery() async throws {
    try await withTemporaryFolder { folder in
      let recipes = try Recipes(in: folder.url, declares: true)
      let insert: @Sendable (inout Draft<Catalog>) throws -> Void = { draft in
        for number in 0..<50 { try draft.insert(Recipe(title: "\(number)")) }
      }
      try await recipes.journal.commit(insert)
      recipes.journal.waitForLayers()
      let layer = try #require(recipes.journal.chain.layers.last)
      let definition = try #require(layer.indexes.first { $0.path == Recipe.indexedPaths.values[0] })
      let known = try #require(layer.contents.valueLines(definition))
      var lines = try (0..<known.count).map { try known.line(at: $0) }
      let place = try #require(lines.firstIndex { $0.line.key == ValueKey(.string("1")) })
      let other = try #require(lines.first { $0.line.key == ValueKey(.string("2")) })
      let old = bytes(of: lines)
      // Item 2 is listed in the place of item 1 too.
      lines[place] = LayerValueLine(
        line: ValueLine(key: lines[place].line.key, member: other.line.member), revision: other.revision)
      let new = bytes(of: lines)
      try recipes.journal.close()
      try recipes.forge(layer) { archive in
        let place = try #require(archive.firstRange(of: old))
        archive.replaceSubrange(place, with: new)
      }
      let journal = try CatalogJournal.open(at: recipes.url, options: recipes.options)
      var updates = journal.updates { try $0.items(Recipe.self).sorted(by: \.title) }.makeAsyncIterator()
      for _ in 0..<2 {
        let update = try #require(try await updates.next())
        #expect(update.items.count > Set(update.items.ids).count)
        try await journal.commit { _ = try $0.insert(Recipe(title: "late")) }
      }
      try journal.close()
    }
  }

  @Test func whatIsErasedIsInNoIndex() throws {
    try withRecipes { recipes in
      let title = "A title that only the family knows"
      let id = try recipes.journal.commit { try $0.insert(Recipe(title: title)) }.value
      // Random changes could delete or rename it before a layer has it.
      let other = try recipes.journal.commit { try $0.addItem(kind: "other") }.value
      for turn in 1...40 {
        try recipes.journal.commit { try $0.updateItem(other, set: ["turn": .integer(Int64(turn))]) }
      }
      recipes.journal.waitForLayers()
      try recipes.journal.close()
      // An index stores the end of a long text separately from the item.
      let end = Array(title.utf8.dropFirst(14))
      #expect(try recipes.files(with: end, in: "snapshots") > 0)
      try CatalogJournal.erase([id.entity], at: recipes.url, reason: "by law")
      #expect(try recipes.files(with: end, in: "") == 0)
      recipes.journal = try CatalogJournal.open(at: recipes.url, options: recipes.options)
      // An erasure rewrites the layers without indexes. A query declares the indexes again.
      #expect(try recipes.journal.state.items(Recipe.self).filter(\.title == title).isEmpty)
      try recipes.grow(60)
      recipes.journal.waitForLayers()
      try recipes.reopen()
      try recipes.expectIndexes(of: recipes.journal.state)
      #expect(try recipes.files(with: end, in: "") == 0)
    }
  }

  @Test func verifyFindsAnIndexThatDoesNotMatchTheEntities() throws {
    try withRecipes { recipes in
      try recipes.grow(30)
      recipes.journal.waitForLayers()
      let layer = try #require(recipes.journal.chain.layers.first)
      let definition = try #require(layer.indexes.first)
      let lines = try #require(layer.contents.valueLines(definition))
      let bytes = try bytes(of: (0..<lines.count).map { try lines.line(at: $0) })
      try recipes.journal.close()
      try recipes.forge(layer) { archive in
        let place = try #require(archive.firstRange(of: bytes)).lowerBound
        // The entity of the first row: after the width and the value.
        let member = place + 1 + 16 + 3
        archive[member] = archive[member] == 1 ? 2 : 1
      }
      let journal = try CatalogJournal.open(at: recipes.url, mode: .readOnly)
      defer { try? journal.close() }
      let problems = try journal.verify(.deep).problems.map(\.message)
      #expect(problems == ["the layer is damaged: an index does not match the entities"])
    }
  }

  /// If the rests of long texts had more than 4 GiB, the layer could never be written.
  @Test func theNumbersOfAnIndexGetEightBytesWhenALongTextNeedsThem() {
    var narrow = PackedValueLines.Builder()
    var widened = PackedValueLines.Builder(narrowLimit: 100)
    var wide = PackedValueLines.Builder(narrowLimit: 0)
    for number in 1...9 {
      // Equal rests are stored once.
      let key = ValueKey(.string(String(repeating: "x", count: 40) + "\(number)"))
      let line = LayerValueLine(line: ValueLine(key: key, member: number), revision: number)
      narrow.append(line)
      widened.append(line)
      wide.append(line)
    }
    #expect(narrow.lines.first == 4 && narrow.rests == wide.rests)
    #expect(widened.lines == wide.lines && widened.rests == wide.rests)
  }

  /// The data of the lines of an index in the archive of a layer.
  private func bytes(of lines: [LayerValueLine]) -> [UInt8] {
    var builder = PackedValueLines.Builder()
    for line in lines { builder.append(line) }
    return builder.lines
  }
}

/// A journal of recipes that are changed at random, with small layers.
private struct Recipes {
  let url: URL
  var options = JournalOptions(layers: .often(40))
  var random = SeededGenerator()
  var journal: CatalogJournal

  init(in folder: URL, declares: Bool) throws {
    url = folder.appending(path: "Recipes.journal")
    options.layers.fanout = 3
    journal = try CatalogJournal.create(at: url, options: options)
    if declares { try journal.state.buildIndexes(of: Recipe.self) }
    try grow(40)
  }

  mutating func grow(_ entryCount: Int) throws {
    for _ in 0..<entryCount {
      try journal.commit { draft in
        for _ in 0..<Int.random(in: 1...6, using: &random) { try QueryTests.change(&draft, using: &random) }
      }
    }
  }

  mutating func reopen() throws {
    try journal.close()
    journal = try CatalogJournal.open(at: url, options: options)
  }

  /// Changes the file of a layer and gives it right checksums, as a fault of the writer would make it. The journal must be
  /// closed.
  func forge(_ layer: Layer, _ change: (inout [UInt8]) throws -> Void) throws {
    let file = url.appending(path: "snapshots/\(layer.name.fileName)")
    var archive = try Array(Data(contentsOf: file))
    try change(&archive)
    try Data(archive).write(to: file)
    var footer = try #require(layer.footer)
    footer.pageChecksums = stride(from: 0, to: archive.count, by: LayerFooter.pageByteCount).map {
      CRC32C.checksum(archive[$0..<min($0 + LayerFooter.pageByteCount, archive.count)])
    }
    try journal.chain.footers.write(layer.name, footer)
  }

  /// How many files in a folder of the journal contain these bytes.
  func files(with bytes: [UInt8], in folder: String) throws -> Int {
    let folder = url.appending(path: folder)
    let names = try FileManager.default.subpathsOfDirectory(atPath: folder.path)
    return names.count { name in
      let contents = try? Data(contentsOf: folder.appending(path: name))
      return contents?.range(of: Data(bytes)) != nil
    }
  }

  func index(_ path: AttributePath, in state: Catalog) -> LayeredIndex? {
    LayeredIndex(state.itemTable, IndexDefinition(IndexScope(itemsOfKind: Recipe.kind), path))
  }

  /// Compares all indexes with those that a scan gives, in both directions and in random ranges.
  mutating func expectIndexes(of state: Catalog, ofAllLayers: Bool = true) throws {
    for path in Recipe.indexedPaths.values {
      let definition = IndexDefinition(IndexScope(itemsOfKind: Recipe.kind), path)
      let scanned = ValueIndex(scanning: state.itemTable, definition)
      guard let layered = index(path, in: state) else {
        // A state before the first layer has none.
        #expect(!ofAllLayers || state.itemTable.base == nil, "\(path.names) is not in all layers")
        continue
      }
      let isSame = layered.inMemory() == scanned
      #expect(isSame)
      var ranges: [ValueRange] = [.all, .missing, .containing("hot"), .prefix("Soup")]
      let numbers = (0..<2).map { _ in FieldValue.integer(Int64.random(in: -2...6, using: &random)) }
      ranges += [.from(numbers[0], below: numbers[1]), .above(numbers[0]), .below("Soup of the day")]
      for range in ranges {
        for reversed in [false, true] {
          let found = IteratorSequence(layered.makeIterator(in: range.lines, reversed: reversed))
          let isSame = Array(found) == Array(scanned.lines(in: range, reversed: reversed))
          #expect(isSame, "\(path.names) \(range) \(reversed)")
        }
      }
    }
  }
}

private func withRecipes(declares: Bool = true, _ body: (inout Recipes) throws -> Void) throws {
  try withTemporaryFolder { folder in
    var recipes = try Recipes(in: folder.url, declares: declares)
    try body(&recipes)
    try recipes.journal.close()
  }
}

/// A base that counts the rows that are looked up, the scans, and the indexes that are asked for.
final class CountedBase: EntityBase {
  private let base: any EntityBase
  private let counts = Lock((rows: 0, scans: 0, indexes: 0))

  init(_ base: any EntityBase) { self.base = base }

  var rowCount: Int { counts.withLock { $0.rows } }
  var scanCount: Int { counts.withLock { $0.scans } }
  var indexCount: Int { counts.withLock { $0.indexes } }

  var totals: EntityTotals { base.totals }
  var failure: JournalError? { base.failure }
  func fail(_ error: JournalError) { base.fail(error) }
  func row(_ number: Int) -> EntityRow? {
    counts.withLock { $0.rows += 1 }
    return base.row(number)
  }
  func keep(_ row: EntityRow, of number: Int) { base.keep(row, of: number) }
  func revision(of number: Int) -> Revision { base.revision(of: number) }
  func isErased(_ number: Int) -> Bool { base.isErased(number) }
  func rows(from number: Int) -> BaseIterator<Int, EntityRow> {
    counts.withLock { $0.scans += 1 }
    return base.rows(from: number)
  }
  func deletions() -> BaseIterator<Int, Deletion> { base.deletions() }
  func revisions() -> BaseIterator<Int, Revision> { base.revisions() }
  func valueLines(_ definition: IndexDefinition) -> (any ValueLinesBase)? {
    counts.withLock { $0.indexes += 1 }
    return base.valueLines(definition)
  }
  func words(_ definition: IndexDefinition) -> (any WordsBase)? { base.words(definition) }
  func distance(to other: any EntityBase) -> Int? { nil }
  func numbers(changedSince other: any EntityBase) -> Set<Int> { [] }
}

extension Data {
  /// Inverts one byte of a file that has these contents.
  fileprivate func changingInPlace(at offset: Int, of file: URL) throws {
    let handle = try FileHandle(forUpdating: file)
    defer { try? handle.close() }
    try handle.seek(toOffset: UInt64(offset))
    try handle.write(contentsOf: Data([self[offset] ^ 0xFF]))
  }
}
