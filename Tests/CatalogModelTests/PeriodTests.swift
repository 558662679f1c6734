import CatalogModel
import Foundation
import InMemoryJournals
import JournalMaintenance
import TestSupport
import Testing

@testable import EntitySearch
@testable import Journaling

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
        // With layers that have the index of past values, and without.
        let options = JournalOptions(layers: random.chance(1, in: 2) ? .often(20) : .automatic)
        var journal = try CatalogJournal.create(at: url, options: options)
        #expect(try journal.periods(where: \Deal.stage == .lead).isEmpty)
        for _ in 0..<3 {
          for _ in 0..<40 { try change(&journal, at: url, options, using: &random) }
          let point = Int.random(in: (journal.base?.revision ?? 0)...journal.head.revision, using: &random)
          for (filter, untyped) in Self.conditions.shuffled(using: &random).prefix(2) {
            try check(journal, filter, untyped, upTo: point)
          }
        }
        #expect(try journal.verify(.deep).isSound)
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
    let known = try journal.pastCandidates(filter, atMost: .max)
    let lookups = [condition.lookup].compactMap { $0 }
    #expect(try known == journal.pastCandidates(ofKind: "deal", lookups, atMost: .max))
    #expect(known?.isSuperset(of: spans.keys) ?? true)
    let candidates = known?.sorted().map { EntityKey.item($0) }
    // With little memory, there are several passes over the log.
    for (byteLimit, readLimit, candidates) in [
      (1, nil, nil), (1000, nil, nil), (1 << 20, nil, nil), (1000, 20, candidates),
      (1000, .max, candidates),
    ] as [(Int, Int?, [EntityKey]?)] {
      var found: [Int] = []
      try journal.forEachMatch(
        of: [.item], upTo: point, candidates: candidates, readLimit: readLimit, byteLimit: byteLimit,
        where: query.matches
      ) {
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
    _ journal: inout CatalogJournal, at url: URL, _ options: JournalOptions,
    using random: inout SeededGenerator
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
      journal = try CatalogJournal.open(at: url, options: options)
    case 3 where newest > 0:
      try journal.takeSnapshot()
      journal.waitForLayers()
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

  /// Values that no checkpoint of the layers shows are in the index too.
  @Test func layersThatAreWrittenAfterTheFirstSearchOfThePastHaveAnIndexForIt() throws {
    try withTemporaryFolder(inMemory: true) { folder in
      let url = folder.url.appending(path: "Deals.journal")
      let options = JournalOptions(layers: .often(50))
      var journal = try CatalogJournal.create(at: url, options: options)
      func lead(_ journal: CatalogJournal) throws -> [Int] {
        try journal.periods(where: \Deal.stage == .lead).map(\.item.number)
      }
      #expect(try lead(journal) == [])
      for number in 1...300 {
        let stage: Deal.Stage = number % 100 == 0 ? .lead : .offer
        let deal = try journal.commit {
          try $0.insert(Deal(title: "deal \(number)", stage: stage, value: number))
        }.value
        if number % 50 == 0 { try journal.commit { try $0.update(deal) { $0.stage = .won } } }
      }
      try journal.takeSnapshot()
      journal.waitForLayers()
      for _ in 0..<2 {
        #expect(try lead(journal) == [100, 200, 300])
        #expect(try journal.pastCandidates(\Deal.stage == .lead) == [100, 200, 300])
        #expect(try journal.pastCandidates(\Deal.stage == .lead || \.stage == .won)?.count == 6)
        #expect(try journal.pastCandidates(\Deal.value >= 300 && \.stage == .won)?.count == 6)
        // Too many match, or the property has no index.
        #expect(try journal.pastCandidates(\Deal.stage == .offer) == nil)
        #expect(try journal.pastCandidates(\Deal.value >= 300) == nil)
        #expect(try journal.pastCandidates(\Deal.stage == .lead || \.value >= 300) == nil)
        let query = EntityQuery(
          kind: "deal", conditions: [.init("stage", isOne: ["lead", "lost"])])
        var found: [Int] = []
        try journal.findEver(query) {
          found.append($0.entity.number)
          return true
        }
        #expect(found == [100, 200, 300])
        try journal.close()
        journal = try CatalogJournal.open(at: url, options: options)
        // A query on the newest state declares the index of values only, and new layers still have the other one.
        #expect(try journal.state.items(Deal.self).filter(\.stage == .lead).ids.isEmpty)
        for _ in 0..<200 {
          try journal.commit { try $0.insert(Deal(title: "new", stage: nil, value: 0)) }
        }
        journal.waitForLayers()
        #expect(
          journal.chain.layers.allSatisfy { layer in
            layer.indexes.contains { $0.content == .pastValues }
          })
      }
      try journal.erase([.item(200)], reason: "by law")
      #expect(try lead(journal) == [100, 300])
      #expect(try journal.verify(.deep).problems.map(\.description) == [])
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
