import CatalogModel
import Files
import Foundation
import JournalMaintenance
import Locks
import TestSupport
import Testing

/// A program that syncs folders, or a partial restore of a backup, can bring back any file or folder of a journal as it
/// was at any moment. Opening then gives exactly the history, or an error; and once the file is as it was, all is well.
@Suite(.disabled(if: TestLength.isUnderSanitizer)) struct StaleFilesTests {
  /// A moment in the life of a journal: a copy of its folder, and what it has.
  private struct Moment {
    let name: String
    let url: URL
    var facts: Facts?
  }

  private struct Facts: Equatable {
    var head: Head
    var digests: [String]
    var items: [Catalog.Item.ID: [String: FieldValue]]
    var images: [String]
  }

  private static let secret = "the secret"

  private static func options(_ hook: FileHook? = nil) -> JournalOptions {
    var options = JournalOptions()
    options.layers.eventCount = 4
    options.layers.additionsPerEvent = 1
    options.fileHook = hook
    return options
  }

  private static func facts(_ journal: CatalogJournal) throws -> Facts {
    var facts = Facts(head: journal.head, digests: [], items: [:], images: [])
    let entries = journal.entries()
    while let entry = try entries.next() { facts.digests.append(entry.digest.hex) }
    for item in journal.state.items { facts.items[item.id] = item.attributes }
    for image in journal.state.images { facts.images.append(image.blob.digest.hex) }
    return facts
  }

  /// The moments of a journal's life: also those during an erasure and prunings, without facts.
  private func life(_ journal: URL, in folder: TemporaryFolder) throws -> [Moment] {
    let moments = Lock<[Moment]>([])
    @Sendable func keep(_ name: String, _ facts: Facts? = nil) throws {
      try moments.withLock { moments in
        let copy = folder.url.appending(path: "moment-\(moments.count)")
        try FileManager.default.copyItem(at: journal, to: copy)
        moments.append(Moment(name: name, url: copy, facts: facts))
      }
    }
    func step(_ name: String, _ body: (CatalogJournal) throws -> Void) throws {
      let open = try CatalogJournal.openOrCreate(at: journal, options: Self.options())
      try body(open)
      open.waitForLayers()
      let facts = try Self.facts(open)
      try open.close()
      try keep(name, facts)
    }
    let hook: FileHook = { operation in
      let isExchange = operation.kind == .rename && operation.path.contains("entries.new/")
      if isExchange || operation.kind == .remove && operation.path.hasSuffix("/ERASING") {
        do { try keep("during \(operation.kind) of \(operation.path)") } catch { Issue.record(error) }
      }
      return .proceed
    }
    func add(_ text: String, _ journal: CatalogJournal) throws {
      let blob = try journal.blobs.add(Data("image of \(text)".utf8))
      try journal.commit { draft in
        let item = try draft.addItem(kind: "find", attributes: ["name": .string(text)])
        try draft.addImage(to: item, name: "\(item).png", mediaType: "image/png", blob: blob)
      }
    }
    try step("created") { _ in }
    try step("with items") { journal in
      for text in [Self.secret, "two", "three"] { try add(text, journal) }
      try journal.takeSnapshot()
    }
    try step("with updates") { journal in
      for number in 1...9 {
        try journal.commit {
          try $0.updateItem(Catalog.Item.ID(1 + number % 3), set: ["n": .integer(Int64(number))])
        }
      }
    }
    try CatalogJournal.erase([.item(1)], at: journal, reason: "by law", options: Self.options(hook))
    try step("erased") { _ in }
    try step("with the image again") { journal in
      // Only its bytes: another item has the same picture.
      try add(Self.secret, journal)
      try journal.commit { try $0.updateItem(4, set: ["name": "another"]) }
    }
    try CatalogJournal.erase([.item(4)], at: journal, reason: "again", options: Self.options(hook))
    try step("erased again, and then with the image") { journal in
      let blob = try journal.blobs.add(Data("image of \(Self.secret)".utf8))
      try journal.commit { try $0.addImage(to: 2, name: "again.png", mediaType: "image/png", blob: blob) }
    }
    try CatalogJournal.prune(before: .revision(6), at: journal, options: Self.options(hook))
    try step("pruned") { journal in try add("five", journal) }
    try CatalogJournal.prune(before: .head(back: 1), at: journal, options: Self.options(hook))
    try step("pruned after the erasures") { journal in
      let plan = try journal.planRestore(of: .entities([.item(2)]), asOf: .head(back: 1))
      try journal.commit(plan)
      for number in 1...6 { try journal.commit { try $0.updateItem(2, set: ["n": .integer(Int64(number))]) } }
      try journal.takeSnapshot()
    }
    return moments.withLock { $0 }
  }

  /// The paths of all files and folders, and the bytes of the files.
  private func contents(_ url: URL) throws -> [String: Data?] {
    var contents: [String: Data?] = [:]
    for name in try FileManager.default.subpathsOfDirectory(atPath: url.path) {
      let kind =
        try FileManager.default.attributesOfItem(atPath: "\(url.path)/\(name)")[.type] as? FileAttributeType
      contents.updateValue(
        kind == .typeDirectory ? nil : try Data(contentsOf: url.appending(path: name)), forKey: name)
    }
    return contents
  }

  @Test func whateverComesBackFromAnyMomentTheHistoryIsExactOrAnErrorSaysSo() throws {
    try withTemporaryFolder(inMemory: true) { folder in
      let url = folder.url.appending(path: "Finds.journal")
      let moments = try life(url, in: folder)
      #expect(
        moments.contains {
          $0.facts == nil && FileManager.default.fileExists(atPath: $0.url.path + "/ERASING")
        })
      var (caseCount, errorCount) = (0, 0)
      for (index, now) in moments.enumerated() where now.facts != nil {
        let current = try contents(now.url)
        var tried: Set<String> = []
        for past in moments[..<index] {
          for (name, bytes) in try contents(past.url).sorted(by: { $0.key < $1.key }) {
            let source = past.url.appending(path: name)
            if let bytes {
              if current[name] == .some(bytes) { continue }
              guard tried.insert("\(name) \(bytes.hashValue)").inserted else { continue }
            } else if name.contains("/") {
              continue
            }
            try FileManager.default.removeItem(at: url)
            try FileManager.default.copyItem(at: now.url, to: url)
            let target = url.appending(path: name)
            try? FileManager.default.removeItem(at: target)
            guard FileManager.default.fileExists(atPath: target.deletingLastPathComponent().path) else {
              continue
            }
            try FileManager.default.copyItem(at: source, to: target)
            caseCount += 1
            let place = "\(now.name), with \(name) of: \(past.name)"
            do {
              if try !check(url, now, name, place) { errorCount += 1 }
            } catch {
              Issue.record("\(place): \(error)")
            }
          }
        }
      }
      print("stale files: \(caseCount) cases, \(errorCount) errors")
      #expect(caseCount > 100 && errorCount > 10 && errorCount < caseCount)
    }
  }

  /// - Returns: whether the journal opens for writing.
  private func check(_ url: URL, _ now: Moment, _ name: String, _ place: String) throws -> Bool {
    let facts = try #require(now.facts)
    func expectExact(_ journal: CatalogJournal) throws {
      #expect(try Self.facts(journal) == facts, "\(place)")
      for entry in 1...13 where facts.digests.count >= 13 {
        let isBefore = journal.base.map { entry <= $0.revision } ?? false
        if isBefore { continue }
        #expect(try journal.state(asOf: .revision(entry)).item(1) == nil, "\(place): erased content is back")
      }
    }
    do {
      let reader = try CatalogJournal.open(at: url, mode: .readOnly, options: Self.options())
      defer { try? reader.close() }
      try expectExact(reader)
    } catch let error as JournalError {
      #expect(!error.message.isEmpty, "\(place)")
    }
    var opens = false
    do {
      let writer = try CatalogJournal.open(at: url, options: Self.options())
      opens = true
      try expectExact(writer)
      // It is written below, where an error would be one of the journal as it is.
      try writer.close()
    } catch let error as JournalError {
      #expect(!opens, "\(place): \(error)")
      #expect(name != "ERASING", "\(place): \(error)")
    }
    if opens {
      #expect(!FileManager.default.fileExists(atPath: url.path + "/ERASING"), "\(place)")
    } else {
      // As an error says: the file as it was.
      let target = url.appending(path: name)
      try? FileManager.default.removeItem(at: target)
      let own = now.url.appending(path: name)
      if FileManager.default.fileExists(atPath: own.path) {
        try FileManager.default.copyItem(at: own, to: target)
      }
    }
    let writer = try CatalogJournal.open(at: url, options: Self.options())
    try expectExact(writer)
    // Opening does not read images. A verification names each that a folder from before lacks.
    for problem in try writer.verify().problems
    where problem.message.hasSuffix("restore the file from a backup") {
      let path = try #require(problem.path?.dropFirst(url.path.count + 1), "\(place)")
      #expect(path.hasPrefix("images/"), "\(place): \(problem)")
      let file = url.appending(path: path)
      try? FileManager.default.removeItem(at: file)
      try FileManager.default.copyItem(at: now.url.appending(path: path), to: file)
    }
    let added = try writer.commit { try $0.addItem(kind: "later") }.value
    writer.waitForLayers()
    let problems = try writer.verify(.deep).problems.filter(\.isDamage)
    #expect(problems.map(\.description) == [], "\(place)")
    try writer.close()
    let again = try CatalogJournal.open(at: url, mode: .readOnly, options: Self.options())
    #expect(again.state.item(added) != nil && again.head.revision == facts.head.revision + 1, "\(place)")
    for image in again.state.images {
      #expect(try !again.blobs.data(of: image.blob).isEmpty, "\(place): \(image.name)")
    }
    try again.close()
    return opens
  }
}
