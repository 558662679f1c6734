import Foundation
import JournalMaintenance
import Journaling
import Locks
import SharedJournals
import TestSupport
import Testing

/// A model in three versions. Each opens the journals of older versions and upgrades their events. None opens those of
/// a newer version or of another model.
@Suite struct SchemaTests {
  // MARK: Of another model

  @Test func aJournalOfAnotherModelIsRefusedNamingBothModelsAndLeftUnchanged() throws {
    try withTemporaryFolder { folder in
      let url = folder.url.appending(path: "Bank.journal")
      let journal = try Journal<Ledger>.create(at: url)
      try journal.commit { try $0.open(owner: "Ana") }
      try journal.close()
      let before = try contents(of: url)
      for mode in [Journal<Notebook>.Mode.readOnly, .readWrite] {
        let error = #expect(throws: JournalError.self) { try Journal<Notebook>.open(at: url, mode: mode) }
        #expect(error?.code == .otherModel)
        #expect(error?.message.contains("ledger/1") == true)
        #expect(error?.message.contains("notebook/7") == true)
      }
      #expect(throws: JournalError.self) { try Journal<Notebook>.openOrCreate(at: url) }
      #expect(try contents(of: url) == before)
    }
  }

  /// It was accepted, and `entity(named:)` ended the process for kind 256.
  @Test func aModelOfTooManyKindsMakesNoJournal() throws {
    try withTemporaryFolder { folder in
      let url = folder.url.appending(path: "None.journal")
      let error = #expect(throws: JournalError.self) { try Journal<ManyKinds>.openOrCreate(at: url) }
      #expect(error?.code == .wrongUse)
      #expect(error?.message.contains("257 kinds of entities; it may have 256") == true)
      let left = try FileManager.default.contentsOfDirectory(atPath: folder.url.path)
      #expect(left == [])
    }
  }

  @Test func anEmptyJournalOfAnotherModelIsRefusedToo() throws {
    try withTemporaryFolder { folder in
      let url = folder.url.appending(path: "Bank.journal")
      try Journal<Ledger>.create(at: url).close()
      let error = #expect(throws: JournalError.self) { try Journal<Notebook>.open(at: url) }
      #expect(error?.code == .otherModel)
    }
  }

  @Test func aSchemaWithoutANameAndAVersionMakesNoJournal() throws {
    try withTemporaryFolder { folder in
      let url = folder.url.appending(path: "None.journal")
      let error = #expect(throws: JournalError.self) { try Journal<Nameless>.create(at: url) }
      #expect(error?.code == .wrongUse)
      let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
      #expect(names.isEmpty)
    }
  }

  // MARK: Of another version

  @Test func everyJournalOfAnOlderVersionOpensInEveryNewerOne() throws {
    try withTemporaryFolder { folder in
      let url = folder.url.appending(path: "Staff.journal")
      let first = try Journal<Staff1>.create(at: url)
      try first.commit { draft in
        try draft.add(.person(1), EntityRecord(["name": .string("Ana Lima")]))
        try draft.add(.person(2), EntityRecord(["name": .string("Ben")]))
      }
      try first.commit { try $0.update(.person(1), to: EntityRecord(["name": .string("Ana Lima Sousa")])) }
      try first.takeSnapshot()
      try first.close()

      let copy = folder.url.appending(path: "Copy.journal")
      try FileManager.default.copyItem(at: url, to: copy)
      let skipping = try Journal<Staff3>.open(at: copy)
      #expect(skipping.state.record(of: .person(1)) == EntityRecord(["title": .string("ANA LIMA SOUSA")]))
      try skipping.close()

      let second = try Journal<Staff2>.open(at: url)
      #expect(second.state.record(of: .person(1)) == EntityRecord(["fullName": .string("Ana Lima Sousa")]))
      #expect(second.health.layerProblems.isEmpty)
      try second.commit { try $0.update(.person(2), to: EntityRecord(["fullName": .string("Benny")])) }
      #expect(try second.takeSnapshot().schema == "staff/2")
      try second.close()

      let third = try Journal<Staff3>.open(at: url)
      let expected = [
        EntityRecord(["title": .string("ANA LIMA SOUSA")]), EntityRecord(["title": .string("BENNY")]),
      ]
      #expect([1, 2].map { third.state.record(of: .person($0)) } == expected)
      try third.commit { try $0.add(.person(3), EntityRecord(["title": .string("EVE")])) }
      // Everything that reads events upgrades them: a replay of any length, a history, entries, verification.
      #expect(try third.version(replayedTo: .head()).state.record(of: .person(2)) == expected[1])
      #expect(
        try third.history(of: .person(1)).map(\.event.change) == [
          .update(RecordChanges(set: ["title": .string("ANA LIMA SOUSA")])),
          .add(EntityRecord(["title": .string("ANA LIMA")])),
        ])
      #expect(try (1...4).map { try third.entry(at: $0).schemaVersion } == [1, 1, 2, 3])
      #expect(
        try third.entry(at: 3).events.map(\.change) == [
          .update(RecordChanges(set: ["title": .string("BENNY")]))
        ]
      )
      #expect(try third.verify(.deep).problems.map(\.description) == [])
      try third.close()

      // An app that was not updated refuses the journal.
      let before = try contents(of: url)
      let error = #expect(throws: JournalError.self) { try Journal<Staff2>.open(at: url) }
      #expect(error?.code == .newerFormat)
      #expect(error?.message.contains("staff/3") == true)
      #expect(error?.message.contains("version 2") == true)
      #expect(throws: JournalError.self) { try Journal<Staff1>.open(at: url, mode: .readOnly) }
      #expect(try contents(of: url) == before)
    }
  }

  /// Otherwise its folder could not even be read any more.
  @Test func aNodeThatWasNotUpdatedStopsBeforeEntriesOfANewerVersion() throws {
    try withTemporaryFolder { folder in
      let memory = SharedMemory()
      var options = JournalOptions()
      options.sharing = memory
      func url(_ node: Int) -> URL { folder.url.appending(path: "Node\(node).journal") }
      let journal = try Journal<Staff1>.create(at: url(0))
      try journal.commit { try $0.add(.person(1), EntityRecord(["name": .string("Ana")])) }
      try journal.close()
      try Journal<Staff1>.share(at: url(0), through: memory, address: memory.address, options: options) { _ in
      }
      _ = try Journal<Staff1>.join(
        through: memory, address: memory.address, id: nil, at: url(1), options: options
      ) { _ in }
      let old = try Journal<Staff1>.open(at: url(1), options: options)
      let new = try Journal<Staff2>.open(at: url(0), options: options)
      try new.commit { try $0.add(.person(2), EntityRecord(["fullName": .string("Ben")])) }
      try new.close()
      #expect(error { try old.catchUp() } == .newerFormat)
      let add = { (draft: inout Draft<Staff1>) in
        try draft.add(.person(3), EntityRecord(["name": .string("Eve")]))
      }
      #expect(error { try old.commit(add) } == .newerFormat)
      #expect(old.head.revision == 1 && old.state.record(of: .person(1)) != nil)
      try old.close()
      let reader = try Journal<Staff1>.open(at: url(1), mode: .readOnly, options: options)
      #expect(reader.head.revision == 1)
      try reader.close()
      let again = try Journal<Staff1>.open(at: url(1), options: options)
      #expect(error { try again.commit(add) } == .newerFormat)
      try again.close()
      // Neither can it join any more.
      #expect(
        error {
          _ = try Journal<Staff1>.join(
            through: memory, address: memory.address, id: nil, at: url(2), options: options
          ) { _ in }
        } == .newerFormat)
      let updated = try Journal<Staff2>.open(at: url(1), options: options)
      try updated.catchUp()
      #expect(updated.head.revision == 2)
      try updated.close()
    }
  }

  private func error(_ body: () throws -> Void) -> JournalError.Code? {
    #expect(throws: JournalError.self) { try body() }?.code
  }

  @Test func theBaseOfAPrunedHistoryIsUpgraded() throws {
    try withTemporaryFolder { folder in
      let url = folder.url.appending(path: "Staff.journal")
      let first = try Journal<Staff1>.create(at: url)
      for name in ["Ana", "Ben", "Cy"] {
        try first.commit { draft in
          let number = draft.state.people.highest + 1
          try draft.add(.person(number), EntityRecord(["name": .string(name)]))
        }
      }
      try first.commit { try $0.update(.person(1), to: EntityRecord(["name": .string("Ana Lima")])) }
      try first.close()
      try Journal<Staff1>.prune(before: .revision(2), at: url)

      func titles(_ state: Staff3) -> [FieldValue?] {
        (1...3).map { state.record(of: .person($0))?["title"] }
      }
      let third = try Journal<Staff3>.open(at: url)
      #expect(titles(third.state) == [.string("ANA LIMA"), .string("BEN"), .string("CY")])
      #expect(titles(try third.state(asOf: .start)) == [.string("ANA"), .string("BEN"), nil])
      let changes = try third.history(of: .person(1))
      #expect(changes.map(\.before) == [EntityRecord(["title": .string("ANA")]), nil])
      #expect(try third.entity(.person(2), asOf: .head())?.record == EntityRecord(["title": .string("BEN")]))
      try third.commit { try $0.update(.person(3), to: EntityRecord(["title": .string("CYRUS")])) }
      try third.takeSnapshot()
      // A copy that ends with entries of the first version vouches for a state of the first version.
      let fork = folder.url.appending(path: "Fork.journal")
      try third.copy(to: fork, through: .revision(3))
      try expectSound(third)
      try expectSound(try Journal<Staff3>.open(at: fork))
      try expectSound(try Journal<Staff1>.open(at: fork))

      // An erasure rewrites the base in the newest version, although entries of the first version follow.
      try Journal<Staff3>.erase([.person(2)], at: url, reason: "by law")
      var again = try Journal<Staff3>.open(at: url)
      #expect(titles(try again.state(asOf: .start)) == [.string("ANA"), nil, nil])
      #expect(try again.entry(at: 3).schemaVersion == 1)
      try expectSound(again)
      try Journal<Staff3>.prune(before: .revision(3), at: url)
      again = try Journal<Staff3>.open(at: url)
      #expect(titles(try again.state(asOf: .start)) == [.string("ANA"), nil, .string("CY")])
      #expect(try again.entry(at: 4).schemaVersion == 1)
      try expectSound(again)
      #expect(throws: JournalError.self) { try Journal<Staff2>.open(at: url) }
    }
  }

  /// Verifies a journal whose history was pruned, and closes it.
  private func expectSound<State>(_ journal: Journal<State>) throws {
    let verification = try journal.verify(.deep)
    #expect(verification.problems.map(\.description) == [])
    #expect(verification.isBaseProven)
    try journal.close()
  }

  /// The snapshot was called damaged.
  @Test func aModelThatHasANewIndexOrKindSaysToRaiseItsVersion() throws {
    try withTemporaryFolder { folder in
      let url = folder.url.appending(path: "Staff.journal")
      let first = try Journal<Staff1>.create(at: url)
      try first.commit { draft in
        for number in 1...3 {
          try draft.add(.person(number), EntityRecord(["name": "Ana", "team": .integer(Int64(number % 2))]))
        }
      }
      try first.takeSnapshot()
      try first.close()

      func expect<State: Teams>(_: State.Type, toBeToldTo advice: String?) throws {
        let journal = try Journal<State>.open(at: url, mode: .readOnly)
        #expect(Array(journal.state.peopleByTeam.members(of: 1)) == [1, 3])
        let problems = try journal.verify(.deep).problems
        // One of the layer, and one of the snapshot.
        #expect(problems.count == (advice == nil ? 0 : 2))
        if let advice {
          #expect(problems.allSatisfy { $0.message.contains(advice) && !$0.message.contains("damaged") })
        }
        try journal.close()
      }
      try expect(IndexedStaff1.self, toBeToldTo: "raise the version in its schema")
      try expect(GrownStaff1.self, toBeToldTo: "raise the version in its schema")
      try expect(GrownStaff2.self, toBeToldTo: nil)
    }
  }

  @Test func anEmptyJournalOfANewerVersionIsRefusedToo() throws {
    try withTemporaryFolder { folder in
      let url = folder.url.appending(path: "Staff.journal")
      try Journal<Staff2>.create(at: url).close()
      let error = #expect(throws: JournalError.self) { try Journal<Staff1>.open(at: url) }
      #expect(error?.code == .newerFormat)
      try Journal<Staff3>.open(at: url).close()
    }
  }

  @Test func aLongReplayUpgradesManyOldEvents() throws {
    try withTemporaryFolder { folder in
      let url = folder.url.appending(path: "Staff.journal")
      let old = try Journal<Staff1>.create(at: url)
      for number in 1...300 {
        try old.commit { try $0.add(.person(number), EntityRecord(["name": .string("n\(number)")])) }
      }
      try old.close()
      let new = try Journal<Staff3>.open(at: url)
      for number in 1...300 {
        #expect(new.state.record(of: .person(number)) == EntityRecord(["title": .string("N\(number)")]))
      }
    }
  }

  /// All events of the journal were decoded to find out that an author has no entries.
  @Test func undoDecodesNoEventsOfOtherAuthors() throws {
    try withTemporaryFolder { folder in
      let url = folder.url.appending(path: "Staff.journal")
      let options = JournalOptions(layers: .manual)
      let old = try Journal<Staff1>.create(at: url, options: options)
      for number in 1...30 {
        try old.commit(by: number == 1 ? "ana" : "bob") {
          try $0.add(.person(number), EntityRecord(["name": .string("n\(number)")]))
        }
      }
      try old.close()
      let new = try Journal<CountedStaff>.open(at: url, options: options)
      let before = CountedStaff.upcastCount.withLock { $0 }
      #expect(before >= 30)
      #expect(try new.planUndo(by: "eve") == nil)
      #expect(try new.planRedo(by: "eve") == nil)
      let after = CountedStaff.upcastCount.withLock { $0 }
      #expect(after == before)
      #expect(try new.planUndo(by: "ana")?.action == .undo(1))
      try new.close()
    }
  }

  @Test func anUpcastThatReturnsAnotherEventIsDetected() throws {
    try withTemporaryFolder { folder in
      let url = folder.url.appending(path: "Staff.journal")
      let old = try Journal<Staff1>.create(at: url)
      try old.commit { try $0.add(.person(1), EntityRecord(["name": .string("Ana")])) }
      try old.close()
      let error = #expect(throws: JournalError.self) { try Journal<MistakenStaff>.open(at: url) }
      #expect(error?.revision == 1)
      #expect(error?.message.contains("staff/2") == true)
    }
  }

  private func contents(of url: URL) throws -> [String: Data] {
    var contents: [String: Data] = [:]
    for name in try FileManager.default.subpathsOfDirectory(atPath: url.path) {
      contents[name] = FileManager.default.contents(atPath: "\(url.path)/\(name)") ?? Data()
    }
    return contents
  }
}

extension EntityKey {
  fileprivate static func person(_ number: Int) -> EntityKey {
    EntityKey(kind: EntityKind(rawValue: 0), number: number)
  }
}

/// A model of people only, in any version.
private protocol Staff: EventSourced {
  var people: EntityTable { get set }
}

extension Staff {
  static var kindNames: [String] { ["person"] }

  init?(parts: StateParts) {
    guard let people = parts.tables.first else { return nil }
    self.init()
    self.people = people
  }

  var parts: StateParts? { StateParts(tables: [people]) }
  func record(of entity: EntityKey) -> EntityRecord? { people[entity.number]?.record }
  func revision(of entity: EntityKey) -> Revision { people.revision(of: entity.number) }

  mutating func apply(_ event: JournalEvent, at revision: Revision) throws(JournalError) {
    try people.apply(event, at: revision, in: Self.self)
  }
}

/// A person has a name.
private struct Staff1: Staff {
  static let schema = "staff/1"
  var people = EntityTable()
}

/// People who are found by their team.
private protocol Teams: Staff {
  var peopleByTeam: EntityIndex { get set }
  /// Entities of kinds that were added.
  static var newTables: [EntityTable] { get }
}

extension Teams {
  var parts: StateParts? {
    StateParts(tables: [people] + Self.newTables, indexes: [("peopleByTeam", peopleByTeam)])
  }

  init?(parts: StateParts) {
    guard let people = parts.tables.first, let peopleByTeam = parts.index("peopleByTeam") else { return nil }
    self.init()
    (self.people, self.peopleByTeam) = (people, peopleByTeam)
  }

  mutating func apply(_ event: JournalEvent, at revision: Revision) throws(JournalError) {
    let (before, after) = try people.apply(event, at: revision, in: Self.self)
    if let team = before?.record["team"]?.integer { peopleByTeam.remove(event.entity.number, from: team) }
    if let team = after?.record["team"]?.integer { peopleByTeam.insert(event.entity.number, in: team) }
  }
}

private struct IndexedStaff1: Teams {
  static let schema = "staff/1"
  static let newTables: [EntityTable] = []
  var people = EntityTable()
  var peopleByTeam = EntityIndex()
}

private struct GrownStaff1: Teams {
  static let schema = "staff/1"
  static let kindNames = ["person", "team"]
  static let newTables = [EntityTable()]
  var people = EntityTable()
  var peopleByTeam = EntityIndex()
}

private struct GrownStaff2: Teams {
  static let schema = "staff/2"
  static let kindNames = ["person", "team"]
  static let newTables = [EntityTable()]
  var people = EntityTable()
  var peopleByTeam = EntityIndex()
}

/// The attribute `name` is called `fullName` now.
private struct Staff2: Staff {
  static let schema = "staff/2"
  var people = EntityTable()

  static func upcast(_ event: JournalEvent, from version: Int) throws(JournalError) -> JournalEvent {
    event.renaming("name", to: "fullName") { $0 }
  }
}

/// The attribute `fullName` is now a `title` in capitals.
private struct Staff3: Staff {
  static let schema = "staff/3"
  var people = EntityTable()

  static func upcast(_ event: JournalEvent, from version: Int) throws(JournalError) -> JournalEvent {
    let event = version < 2 ? try Staff2.upcast(event, from: version) : event
    return event.renaming("fullName", to: "title") { value in
      if case .string(let text) = value { .string(text.uppercased()) } else { value }
    }
  }
}

/// Counts the events that are upgraded.
private struct CountedStaff: Staff {
  static let schema = "staff/2"
  static let upcastCount = Lock(0)
  var people = EntityTable()

  static func upcast(_ event: JournalEvent, from version: Int) throws(JournalError) -> JournalEvent {
    upcastCount.withLock { $0 += 1 }
    return event
  }
}

/// A faulty model, which upgrades an event to one of another person.
private struct MistakenStaff: Staff {
  static let schema = "staff/2"
  var people = EntityTable()

  static func upcast(_ event: JournalEvent, from version: Int) throws(JournalError) -> JournalEvent {
    JournalEvent(entity: .person(event.entity.number + 1), previous: event.previous, change: event.change)
  }
}

extension JournalEvent {
  fileprivate func renaming(_ old: String, to new: String, _ body: (FieldValue) -> FieldValue) -> JournalEvent
  {
    var change = change
    switch change {
    case .add(let record):
      if let value = record[old] { change = .add(EntityRecord([new: body(value)])) }
    case .update(let changes):
      var (set, removed): ([String: FieldValue], [String]) = ([:], [])
      changes.visit { key, value in
        guard key == .attribute(old) else { return }
        if let value { set[new] = body(value) } else { removed.append(new) }
      }
      change = .update(RecordChanges(set: set, remove: removed))
    case .delete, .erased: break
    }
    return JournalEvent(entity: entity, previous: previous, change: change)
  }
}

/// Another model with the same kinds.
private struct Notebook: Staff {
  static let schema = "notebook/7"
  var people = EntityTable()
}

private struct ManyKinds: Staff {
  static let schema = "many/1"
  static let kindNames = (0...256).map { "kind\($0)" }
  var people = EntityTable()
}

private struct Nameless: Staff {
  static let schema = "no version"
  var people = EntityTable()
}
