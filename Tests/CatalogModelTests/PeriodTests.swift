import CatalogModel
import Foundation
import InMemoryJournals
import JournalMaintenance
import TestSupport
import Testing

@testable import EntitySearch

/// When entities matched a condition, compared with a loop over the states of all revisions.
@Suite(.disabled(if: TestLength.isUnderSanitizer)) struct PeriodTests {
  private struct Deal: CatalogItem {
    static let kind = "deal"
    static let indexes = [Index(\Deal.stage)]
    enum Stage: String, Codable, QueryValue, CaseIterable { case lead, offer, won }

    var title: String
    var stage: Stage?
    var value: Int
  }

  /// The revisions of a period.
  private struct Span: Equatable {
    let start: Revision
    var end: Revision?

    init(start: Revision) { self.start = start }

    init(_ period: MatchPeriod) { (start, end) = (period.start.revision, period.end?.revision) }
  }

  /// The same conditions with and without types.
  private static var conditions: [(filter: ItemFilter<Deal>, untyped: EntityQuery.Condition)] {
    [
      (\.stage == .lead, .init("stage", is: "lead")),
      (\.stage != .lead, .init("stage", isOne: ["lead"], isNegated: true)),
      (\.stage == nil, .init("stage", is: .null)),
      (\.value >= 3, .init("value", in: [.from(3)])),
      (.contains(ignoringCase: ""), .init("@kind", is: "deal")),
    ]
  }

  @Test func periodsAreThoseOfALoopOverAllStates() throws {
    var random = SeededGenerator()
    for _ in cases(12) {
      try withTemporaryFolder(inMemory: true) { folder in
        let url = folder.url.appending(path: "Deals.journal")
        var journal = try CatalogJournal.create(at: url)
        for _ in 0..<3 {
          for _ in 0..<40 { try change(&journal, at: url, using: &random) }
          let point = Int.random(in: (journal.base?.revision ?? 0)...journal.head.revision, using: &random)
          for (filter, untyped) in Self.conditions.shuffled(using: &random).prefix(2) {
            try check(journal, filter, untyped, upTo: point)
          }
        }
        #expect(try journal.verify().isSound)
        try journal.close()
      }
    }
  }

  private func check(
    _ journal: CatalogJournal, _ filter: ItemFilter<Deal>, _ condition: EntityQuery.Condition,
    upTo point: Revision
  ) throws {
    var spans: [Int: [Span]] = [:]
    var records: [Int: EntityRecord] = [:]
    for revision in (journal.base?.revision ?? 0)...point {
      let state = try journal.state(asOf: .revision(revision))
      for item in state.items { records[item.id.number] = item.record }
      let matching = Set(try state.items(Deal.self).filter(filter).ids.map(\.number))
      for (number, known) in spans where known.last?.end == nil && !matching.contains(number) {
        spans[number]?[known.count - 1].end = revision
      }
      for number in matching where spans[number].map({ $0.last?.end != nil }) ?? true {
        spans[number, default: []].append(Span(start: revision))
      }
    }
    let query = EntityQuery(kind: "deal", conditions: [condition])
    for number in 1...journal.state.itemTable.highest + 1 {
      let periods = try journal.periods(of: ItemID<Deal>(number), where: filter, asOf: .revision(point))
      #expect(periods.map(Span.init) == spans[number] ?? [], "item:\(number)")
      #expect(try journal.periods(of: .item(number), where: query, asOf: .revision(point)) == periods)
      for period in periods { try checkBorders(of: period, journal) }
    }
    let ever = try journal.periods(where: filter, asOf: .revision(point))
    #expect(ever.map(\.item.number) == spans.keys.sorted())
    for (item, periods) in ever { #expect(periods.map(Span.init) == spans[item.number]) }
    // With little memory, there are several passes over the log.
    for byteLimit in [1, 1000, 1 << 20] {
      var found: [Int] = []
      try journal.forEachMatch(of: [.item], upTo: point, byteLimit: byteLimit, where: query.matches) {
        let number = $0.entity.number
        found.append(number)
        #expect($0.periods.map(Span.init) == spans[number])
        #expect($0.record == records[number])
        let row = try journal.entity($0.entity, asOf: .revision(point))
        #expect(($0.deleted == nil) == (row != nil))
        if let deleted = $0.deleted {
          #expect(deleted >= spans[number]?.last?.end ?? .max)
        }
        return true
      }
      #expect(found == spans.keys.sorted())
    }
  }

  private func checkBorders(of period: MatchPeriod, _ journal: CatalogJournal) throws {
    for border in [period.start, period.end].compactMap({ $0 }) {
      if border.revision == journal.base?.revision {
        #expect(border.isPruned && border.date == journal.base?.date && border.author.isEmpty)
      } else {
        let entry = try journal.entry(at: border.revision)
        #expect(!border.isPruned && border.date == entry.date && border.author == entry.author)
        #expect(border.note == entry.note && border.clockDate == entry.clockDate)
      }
    }
  }

  private func change(
    _ journal: inout CatalogJournal, at url: URL, using random: inout SeededGenerator
  ) throws {
    let author = ["ana", "bob", "eve"].randomElement(using: &random)!
    let (state, base, newest) = (journal.state, journal.base?.revision ?? 0, journal.head.revision)
    let any = EntityKey.item(Int.random(in: 1...max(state.itemTable.highest, 1), using: &random))
    switch Int.random(in: 0..<40, using: &random) {
    case 0: if state.revision(of: any) > 0 { try journal.erase([any], reason: "by law", by: author) }
    case 1:
      if newest > base { try journal.prune(before: .revision(Int.random(in: base...newest, using: &random))) }
    case 2:
      try journal.close()
      journal = try CatalogJournal.open(at: url)
    case 3 where newest > 0: try journal.takeSnapshot()
    case 4...7:
      // What was erased or pruned can't be restored.
      let point = RevisionSelector.revision(Int.random(in: base...newest, using: &random))
      if let plan = try? journal.planRestore(of: .entities([any]), asOf: point) {
        _ = try? journal.commit(plan, by: author)
      }
    case 8...11:
      if let plan = try journal.planUndo(by: author, later: .override) {
        _ = try? journal.commit(plan, by: author)
      }
    default:
      try journal.commit(by: author, note: "number \(newest + 1)") { draft in
        for _ in 0..<Int.random(in: 1...3, using: &random) { try change(&draft, using: &random) }
      }
    }
  }

  private func change(_ draft: inout Draft<Catalog>, using random: inout SeededGenerator) throws {
    let stage = Deal.Stage.allCases.randomElement(using: &random)!
    let value = Int.random(in: 0..<6, using: &random)
    guard let item = draft.state.items.map(\.id).randomElement(using: &random), !random.chance(1, in: 4)
    else {
      let deal = Deal(title: "deal \(value)", stage: random.chance(1, in: 4) ? nil : stage, value: value)
      try draft.insert(deal)
      return
    }
    switch Int.random(in: 0..<12, using: &random) {
    case 0, 1: try draft.deleteItem(item)
    case 2: try draft.setKind(ofItem: item, to: random.chance(1, in: 2) ? "deal" : "lost")
    case 3: try draft.updateItem(item, remove: ["stage"])
    case 4...6: try draft.updateItem(item, set: ["value": .integer(Int64(value))])
    default: try draft.updateItem(item, set: ["stage": .string(stage.rawValue)])
    }
  }

  /// A journal with few items has the history of each read instead of the whole log. This one is read in parts, too.
  @Test func longHistoriesOfFewItemsAreReadOneByOneAndInParts() throws {
    try withTemporaryFolder(inMemory: true) { folder in
      let journal = try CatalogJournal.create(at: folder.url.appending(path: "Deals.journal"))
      try journal.commit(by: "ana") { try $0.insert(Deal(title: "a", stage: .lead, value: 0)) }
      let text = String(repeating: "x", count: 100_000)
      for value in 1...300 {
        try journal.commit(by: "bob") { draft in
          let stage = value % 100 < 50 ? "lead" : "won"
          try draft.updateItem(
            1,
            set: [
              "value": .integer(Int64(value)), "stage": .string(stage), "text": .string("\(value) \(text)"),
            ])
        }
      }
      try journal.commit(by: "eve") { try $0.deleteItem(1) }
      let expected: [(Revision, Revision)] = [(1, 51), (101, 151), (201, 251), (301, 302)]
      let periods = try journal.periods(of: ItemID<Deal>(1), where: \.stage == .lead)
      #expect(periods.map(\.start.revision) == expected.map(\.0))
      #expect(periods.map(\.end?.revision) == expected.map(\.1))
      #expect(periods.first?.start.author == "ana" && periods.last?.end?.author == "eve")
      var found: [FoundEntity] = []
      let query = EntityQuery(kind: "deal", conditions: [.init("stage", is: "lead")])
      try journal.findEver(query) {
        found.append($0)
        return true
      }
      #expect(found.map(\.periods) == [periods] && found.first?.deleted == 302)
      #expect(found.first?.record["value"] == .integer(300))
      try journal.findEver(EntityQuery(text: "item:1")) {
        #expect($0.periods.map(\.start.revision) == [1] && $0.periods.map(\.end?.revision) == [302])
        return true
      }
      try journal.close()
    }
  }

  @Test func timeIsCountedBetweenTwoDatesAndAnOpenPeriodUntilNow() throws {
    let journal = try CatalogJournal.inMemory()
    func date(_ seconds: Double) -> Date { Date(timeIntervalSince1970: 1.7e9 + seconds) }
    let stages: [(Double, Deal.Stage)] = [
      (0, .lead), (100, .won), (250, .lead), (300, .offer), (1000, .lead),
    ]
    let deal = try journal.commit(date: date(-50)) {
      try $0.insert(Deal(title: "a", stage: .won, value: 0))
    }.value
    for (seconds, stage) in stages {
      try journal.commit(date: date(seconds)) { try $0.update(deal) { $0.stage = stage } }
    }
    let periods = try journal.periods(of: deal, where: \.stage == .lead)
    #expect(periods.count == 3 && periods.last?.end == nil)
    #expect(periods.totalTime(until: date(1500)) == 650)
    #expect(periods.totalTime(from: date(60), until: date(270)) == 60)
    #expect(periods.totalTime(until: date(-10)) == 0)
    #expect(periods.totalTime() > 150)
    let early = try journal.periods(of: deal, where: \.stage == .lead, asOf: .date(date(60)))
    #expect(early.map(\.start.date) == [date(0)] && early.totalTime(until: date(60)) == 60)
    #expect(try journal.periods(of: ItemID<Deal>(9), where: \.stage == .lead).isEmpty)
    #expect(throws: JournalError.self) { try journal.periods(of: deal, where: \.title.count == 3) }
    #expect(throws: JournalError.self) { try journal.periods(where: \Deal.title.count == 3) }
    try journal.close()
  }
}
