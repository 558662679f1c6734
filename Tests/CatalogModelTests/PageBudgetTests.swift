import CatalogModel
import Foundation
import JournalMaintenance
import Locks
import TestSupport
import Testing

@testable import Journaling

/// The pages of layers that are in memory are bounded, and freeing them changes no answer.
@Suite struct PageBudgetTests {
  private let count = 800

  @Test func theMemoryOfPagesIsBoundedWhateverIsRead() throws {
    try withGroves { url, expected in
      // With a limit of zero, each page used to free all others, and reading took 50 times as long.
      for limit in [0, 64 << 10, Int.max] {
        let journal = try CatalogJournal.open(at: url, mode: .readOnly, options: options(limit))
        let state = journal.state
        let past = try journal.state(asOf: .revision(journal.head.revision / 2))
        let pastItems = Array(past.items)
        var random = SeededGenerator()
        var highest = 0
        for round in 0..<200 {
          let number = Int.random(in: 1...count, using: &random)
          #expect(state.item(EntityID(number)) == expected[number])
          if round % 100 == 0 {
            #expect(Array(state.items) == expected.values.sorted { $0.id.number < $1.id.number })
            #expect(Array(past.items) == pastItems)
          }
          highest = max(highest, pageByteCount(of: journal))
        }
        if limit == .max {
          #expect(highest > 800 << 10, "the files are too small for this test")
        } else {
          // Files that are opened again read a few pages, and reads in progress go on.
          #expect(highest < limit * 2 + (256 << 10) + journal.chain.layers.count * (64 << 10))
        }
        #expect(state.failure == nil && journal.health.layerProblems.isEmpty)
        try journal.close()
        // A held state is read to the end, also after its journal was closed.
        #expect(Array(state.items).count == expected.count)
      }
    }
  }

  /// Memory used to grow to 256 MiB with the history, however small its states were.
  @Test(arguments: [
    (0, 0, 0, 4), (150, 1_000_000, 1_000_000, 154), (150, 500_000, 1_000_000, 79),
    (150, 20_000, 10_000_000, 4), (4096, 1_000_000, 1_000_000, 256), (4096, 20_000, 10_000_000, 12),
  ])
  func theUsualLimitGrowsWithTheNewestStateAndHardlyWithTheHistory(
    _ megabytes: Int, _ entityCount: Int, _ eventCount: Int, _ limit: Int
  ) {
    let usual = PageBudget.usualLimit(
      byteCount: megabytes << 20, entityCount: entityCount, eventCount: eventCount)
    #expect(usual >> 20 == limit)
  }

  @Test func pagesThatAreInUseStayWhenOthersAreFreed() throws {
    try withGroves { url, expected in
      let journal = try CatalogJournal.open(at: url, mode: .readOnly, options: options(.max))
      let state = journal.state
      let number = try #require(expected.keys.max())
      for layer in journal.chain.layers {
        #expect(Array(state.items).count == expected.count)
        let byteCount = layer.pageByteCount
        #expect(layer.freeUnusedPages(atMost: .max) == 0 && layer.pageByteCount == byteCount)
        #expect(layer.freeUnusedPages(atMost: 1) > 0 && layer.pageByteCount < byteCount)
        #expect(state.item(EntityID(number)) == expected[number])
        #expect(layer.freeUnusedPages(atMost: .max) > byteCount / 2)
        let kept = layer.pageByteCount
        #expect(state.item(EntityID(number)) == expected[number])
        #expect(layer.pageByteCount == kept, "what is used is in memory")
      }
      for (number, item) in expected { #expect(state.item(EntityID(number)) == item) }
      #expect(Array(state.items).count == expected.count && state.failure == nil)
      try journal.close()
    }
  }

  @Test func iterationsAndQueriesContinueWhenPagesAreFreed() throws {
    try withGroves { url, expected in
      let journal = try CatalogJournal.open(at: url, options: options(16 << 10))
      let state = journal.state
      let sorted = expected.values.sorted { $0.id.number < $1.id.number }
      var items = state.items.makeIterator()
      for item in sorted { #expect(items.next() == item) }
      #expect(items.next() == nil)
      let grove = try #require(state.categories.first { $0.name == "grove 1" })
      let members = sorted.filter { $0.category == grove.id }
      #expect(Array(state.items(in: grove.id)).map(\.id) == members.map(\.id))
      // The declared index is read from the layers.
      let heights = try sorted.map { try $0.decode(Tree.self).height }.sorted()
      let trees = state.items(Tree.self)
      #expect(
        try trees.sorted(by: \.height).prefix(500).map { try $0.value.height } == Array(heights.prefix(500)))
      let highest = try trees.sorted(by: .descending(\.height)).prefix(500).map { try $0.value.height }
      #expect(highest == Array(heights.reversed().prefix(500)))
      try journal.close()
    }
  }

  /// An iteration that pauses used to keep all pages of its layers, and other readers got copies of them.
  @Test func anIterationThatPausesKeepsNoPages() throws {
    try withGroves { url, expected in
      let journal = try CatalogJournal.open(at: url, mode: .readOnly, options: options(.max))
      let layer = try #require(journal.chain.layers.first)
      var items = journal.state.items.makeIterator()
      var numbers: [Int] = []
      func advance(_ count: Int) {
        for _ in 0..<count { if let item = items.next() { numbers.append(item.id.number) } }
      }
      advance(50)
      #expect(layer.pageByteCount > 16 << 10)
      layer.freePages()
      #expect(layer.pageByteCount == 0)
      advance(expected.count)
      #expect(numbers == expected.keys.sorted())
      try journal.close()
    }
  }

  @Test(.timeLimit(.minutes(60))) func manyThreadsReadTheSameWhilePagesAreFreed() throws {
    try withGroves { url, expected in
      let journal = try CatalogJournal.open(at: url, options: options(32 << 10))
      let state = journal.state
      let wrong = Lock<[Int]>([])
      Threads.forEach(below: 5, width: 5) { thread in
        var random = SeededGenerator(seed: UInt64(thread))
        if thread == 4 {
          for _ in 0..<2_000 {
            for layer in journal.chain.layers { _ = layer.freeUnusedPages(atMost: 16 << 10) }
          }
          return
        }
        if thread == 0 {
          let items = Array(state.items)
          if items != expected.values.sorted(by: { $0.id.number < $1.id.number }) {
            wrong.withLock { $0.append(0) }
          }
        }
        for _ in 0..<300 {
          let number = Int.random(in: 1...count, using: &random)
          if state.item(EntityID(number)) != expected[number] { wrong.withLock { $0.append(number) } }
        }
      }
      #expect(wrong.withLock { $0 } == [])
      #expect(state.failure == nil)
      try journal.close()
    }
  }

  /// A merge reads its sources from the start to the end with few pages in memory, and finds the same in them.
  @Test func aSequentialReadKeepsFewPages() throws {
    try withGroves { url, _ in
      let journal = try CatalogJournal.open(at: url, mode: .readOnly, options: options(.max))
      _ = try journal.state.items(Tree.self).filter(\.height == 1).count
      let limit = 32 << 10
      for layer in journal.chain.layers {
        let file = try #require(layer.contents as? LayerFile)
        let source = try file.reopened(pageLimit: limit)
        var highest = 0
        for kind in layer.top.tables.indices {
          let (next, same) = (try source.versions(kind), try file.versions(kind))
          while let version = try next() {
            let expected = try #require(try same())
            #expect((version.number, version.revision) == (expected.number, expected.revision))
            #expect(try source.rows(kind)(version) == file.rows(kind)(expected))
            highest = max(highest, source.pageByteCount)
          }
          #expect(try same() == nil)
        }
        for index in journal.chain.shape?.indexes.indices ?? 0..<0 {
          let (next, same) = (try source.lines(index), try file.lines(index))
          while let line = try next() {
            let expected = try #require(try same())
            #expect(
              (line.key, line.revision, line.isThere) == (expected.key, expected.revision, expected.isThere))
          }
          #expect(try same() == nil)
        }
        for definition in file.definitions {
          let (lines, same) = (
            try source.knownOrScannedLines(definition), try file.knownOrScannedLines(definition)
          )
          #expect(lines.count == same.count)
          for position in 0..<same.count { #expect(try lines.line(at: position) == same.line(at: position)) }
        }
        // A run of pages is read at once, and an entity can be in several.
        #expect(highest > 0 && highest < limit + (128 << 10))
        #expect(file.pageByteCount > highest, "the file is too small for this test")
      }
      try journal.close()
    }
  }

  /// A merge reads the pages of readers if the file can't be opened once more, because the file has no fault. In a process of its own,
  /// because other tests need descriptors.
  @Test func withoutAFreeDescriptorAMergeReadsThePagesOfReaders() async {
    await #expect(processExitsWith: .success) {
      try PageBudgetTests().withGroves { url, expected in
        let journal = try CatalogJournal.open(at: url, mode: .readOnly, options: .readingLate)
        let state = journal.state
        #expect(Array(state.items).count == expected.count)
        // The three that every process begins with.
        try withDescriptors(atMost: 3) {
          #expect(FileHandle(forReadingAtPath: "/dev/null") == nil)
          for layer in journal.chain.layers {
            let file = try #require(layer.contents as? LayerFile)
            let byteCount = file.pageByteCount
            #expect(byteCount > 0)
            let source = try file.reopened(pageLimit: 0)
            for kind in layer.top.tables.indices {
              let (next, same) = (try source.versions(kind), try file.versions(kind))
              while let version = try next() {
                let known = try #require(try same())
                #expect(try source.rows(kind)(version) == file.rows(kind)(known))
              }
            }
            #expect(file.pageByteCount >= byteCount)
          }
          for (number, item) in expected { #expect(state.item(EntityID(number)) == item) }
        }
        #expect(journal.health.layerProblems.isEmpty && state.failure == nil)
        try journal.close()
      }
    }
  }

  /// Readers have pages of a file in memory that are altered on the disk since. A merge reads the file again, so it has
  /// to find that out and rebuild the layer; otherwise no layer would be merged any more.
  @Test func aMergeRebuildsWhatWasAlteredOnTheDiskAfterItWasRead() throws {
    try withGarden { garden in
      var options = JournalOptions(layers: .often(12))
      options.layers.fanout = 3
      options.layers.memoryByteCount = 0
      try garden.reopen(options: options)
      _ = try garden.journal.state.items(Tree.self).filter(\.height == 1).count
      for round in 0..<4 {
        // The newest of several layers is merged soon. A single one, which has all of history, is not.
        var written: [Layer] = []
        while written.count < 2 {
          try garden.grow(5)
          garden.journal.waitForLayers()
          written = garden.journal.chain.layers.filter { $0.footer != nil }
        }
        let layer = try #require(written.last)
        // All pages are in memory.
        let file = try #require(layer.contents as? LayerFile)
        try readWhole(file, of: layer)
        let url = garden.url.appending(path: "snapshots/\(layer.name.fileName)")
        let good = try Data(contentsOf: url)
        let handle = try FileHandle(forUpdating: url)
        // In some rounds only the end, which an opening reads first.
        let first = round % 2 == 0 ? 0 : max(good.count - 4096, 0)
        for offset in stride(from: first, to: good.count, by: 1000) {
          try handle.seek(toOffset: UInt64(offset))
          try handle.write(contentsOf: Data([good[offset] ^ 0x11]))
        }
        try handle.close()
        var turns = 0
        while garden.journal.chain.layers.contains(where: { $0 === layer }), turns < 40 {
          try garden.grow(5)
          garden.journal.waitForLayers()
          turns += 1
        }
        #expect(turns < 40, "the altered layer was never merged")
        #expect(garden.journal.state.json == garden.states.last)
        #expect(!garden.journal.health.layerProblems.isEmpty)
        try garden.reopen(options: options)
      }
      try garden.expectEveryRevision()
      #expect(try garden.journal.verify(.deep).problems.map(\.description) == [])
    }
  }

  private func readWhole(_ file: LayerFile, of layer: Layer) throws {
    for kind in layer.top.tables.indices {
      let next = try file.versions(kind)
      while let version = try next() { _ = try file.rows(kind)(version) }
    }
  }

  /// The bytes of all pages that the layers of a journal have in memory.
  private func pageByteCount(of journal: CatalogJournal) -> Int {
    journal.chain.layers.reduce(0) { $0 + $1.pageByteCount }
  }

  private func options(_ limit: Int) -> JournalOptions {
    var options = JournalOptions(layers: .manual, cacheByteCount: limit)
    // Files are read page by page, as if they were large.
    options.layers.memoryByteCount = 0
    return options
  }

  /// A closed journal with items in several layers, some updated and some deleted, and what it has.
  private func withGroves(_ body: (URL, [Int: Catalog.Item]) throws -> Void) throws {
    try withTemporaryFolder { folder in
      var options = JournalOptions(layers: .often(150))
      // So that no layers are merged.
      options.layers.fanout = 1_000
      options.layers.logShare = 1_000
      let journal = try CatalogJournal.create(
        at: folder.url.appending(path: "Groves.journal"), options: options)
      _ = try journal.state.items(Tree.self).filter(\.height == 1).count
      let groves = try journal.commit { draft in
        try (0..<4).map { try draft.addCategory(name: "grove \($0)") }
      }.value
      for part in 0..<4 {
        try journal.commit { draft in
          for number in 0..<count / 4 {
            let id = try draft.insert(
              Tree(
                name: "tree \(part)-\(number)", height: number * 7919 % 10_007,
                notes: String(repeating: "leaf \(number) ", count: 120)))
            try draft.setCategory(ofItem: EntityID(id.number), to: groves[number % 4])
          }
        }
        try journal.commit { draft in
          for number in stride(from: part + 1, through: (part + 1) * count / 4, by: 37) {
            guard draft.state.item(EntityID(number)) != nil else { continue }
            if number % 5 == 0 {
              try draft.deleteItem(EntityID(number))
            } else {
              try draft.updateItem(EntityID(number), set: ["height": .integer(Int64(part))])
            }
          }
        }
        journal.waitForLayers()
      }
      #expect(try journal.statistics().layerCount >= 4)
      var items: [Int: Catalog.Item] = [:]
      for item in try journal.version(replayedTo: .head()).state.items { items[item.id.number] = item }
      let url = journal.url
      try journal.close()
      try body(url, items)
    }
  }
}

private struct Tree: CatalogItem {
  static let kind = "tree"
  static let indexes = [Index(\Tree.height)]
  var name: String
  var height: Int
  var notes: String
}
