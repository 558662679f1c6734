import CBOR
import Foundation
import Locks
import TestSupport
import Testing

@testable import CatalogModel
@testable import Journaling

/// Sums, groups and joins, against loops over the decoded values.
@Suite(.disabled(if: TestLength.isUnderSanitizer)) struct AggregateTests {
  private typealias Sales = [(id: Int, sale: IndexedSale)]

  /// - Parameter many: a number of items large enough for two threads, or 0.
  @Test(arguments: [(150, 12, 0), (4_300, 2, 0), (100, 2, 18_000)])
  func aggregatesAndJoinsAnswerAsLoopsDo(size: Int, rounds: Int, many: Int) throws {
    var random = SeededGenerator()
    var history = CatalogHistory()
    try history.commit { draft in
      for _ in 0..<size { try draft.changeSales(using: &random) }
      for _ in 0..<many { try draft.insert(IndexedSale.random(20, using: &random)) }
    }
    #expect(history.state.itemTable.isLongInMemory == (many > 0))
    for round in 0..<rounds {
      try history.commit { draft in
        for _ in 0..<20 { try draft.changeSales(using: &random) }
        try Self.compare(draft.state, using: &random)
      }
      if round == rounds / 2 { try history.rebaseNewestState() }
      if round % 3 == 1 { try history.state.buildIndexes(of: IndexedSale.self) }
      for state in [history.state, history.states.randomElement(using: &random)!] {
        for _ in 0..<3 { try Self.compare(state, using: &random) }
      }
    }
  }

  @Test func aggregatesOfLayersAndOfThePastAnswerAsLoopsDo() throws {
    var random = SeededGenerator()
    var options = JournalOptions(layers: .often(40))
    options.layers.fanout = 3
    try withTemporaryFolder { folder in
      let url = folder.url.appending(path: "Sales.journal")
      var journal = try CatalogJournal.create(at: url, options: options)
      try journal.state.buildIndexes(of: IndexedSale.self)
      // So many that a query does not wait for its index.
      try journal.commit { draft in
        for _ in 0..<20 { try draft.insert(Customer(name: "early")) }
        for _ in 0..<4_200 { try draft.insert(IndexedSale.random(20, using: &random)) }
      }
      for _ in 0..<4 {
        for _ in 0..<30 {
          try journal.commit { draft in for _ in 0..<3 { try draft.changeSales(using: &random) } }
        }
        journal.waitForLayers()
        try journal.close()
        journal = try CatalogJournal.open(at: url, options: options)
        try Self.compare(journal.state, using: &random)
        let revision = Int.random(in: 1...journal.head.revision, using: &random)
        try Self.compare(journal.state(asOf: .revision(revision)), using: &random)
        try journal.commit { draft in
          try draft.changeSales(using: &random)
          try Self.compare(draft.state, using: &random)
        }
      }
      try journal.close()
    }
  }

  private static func compare(_ state: Catalog, using random: inout SeededGenerator) throws {
    let all = try state.items(ofKind: IndexedSale.kind).map {
      (id: $0.id.number, sale: try $0.decode(IndexedSale.self))
    }
    for _ in 0..<2 {
      try compare(state, IndexedSale.self, all, using: &random)
      try compare(state, ScannedSale.self, all, using: &random)
    }
  }

  private static func compare<Model: Sale>(
    _ state: Catalog, _ type: Model.Type, _ all: Sales, using random: inout SeededGenerator
  ) throws {
    var (query, found) = (state.items(type), all)
    for _ in 0..<Int.random(in: 0...2, using: &random) {
      let question = SaleQuestion<Model>.random(using: &random)
      query = try query.filter(question.filter)
      found = found.filter { question.holds($0.sale) }
    }
    if random.chance(1, in: 4) {
      query = try query.sorted(by: \.count, .descending).prefix(7)
      found = Array(found.sorted { ($0.sale.count, $0.id) > ($1.sale.count, $1.id) }.prefix(7))
    }
    if random.chance(1, in: 4) { #expect(query.ids.map(\.number) == found.map(\.id)) }
    let sales = found.map(\.sale)

    let (counts, amounts) = (sales.map(\.count), sales.compactMap(\.amount))
    #expect(try query.sum(\.count) == counts.reduce(0, +))
    #expect(try query.sum(\.amount) == amounts.reduce(0, +))
    #expect(try query.sum(\.price) == sales.compactMap(\.price).reduce(0, +))
    #expect(try query.sum(\.fee) == sales.compactMap(\.fee?.rawValue).reduce(0, +))
    #expect(try query.average(\.count) == mean(counts.reduce(0) { $0 + Double($1) }, counts.count))
    #expect(try query.average(\.amount) == mean(amounts.reduce(0, +), amounts.count))
    #expect(try query.min(\.count) == counts.min() && query.max(\.count) == counts.max())
    #expect(try query.min(\.amount) == amounts.min() && query.max(\.amount) == amounts.max())
    #expect(try query.max(\.price) == sales.compactMap(\.price).max())
    #expect(
      try query.max(\.region) == sales.compactMap(\.region?.rawValue).max().flatMap { Region(rawValue: $0) })
    #expect(try query.distinct(\.count) == Set(counts).sorted())

    let groups = try query.grouped(by: \.region, .count, .sum(\.count), .average(\.amount), .min(\.price))
    let expected = Dictionary(grouping: sales, by: \.region).sorted {
      ($0.key?.rawValue ?? "") < ($1.key?.rawValue ?? "")
    }
    let regions = try query.distinct(\.region)
    #expect(groups.map(\.key) == regions && regions == expected.map(\.key))
    for (group, sales) in zip(groups, expected.map(\.value)) {
      let amounts = sales.compactMap(\.amount)
      #expect(group.values.0 == sales.count && group.values.1 == sales.map(\.count).reduce(0, +))
      #expect(group.values.2 == mean(amounts.reduce(0, +), amounts.count))
      #expect(group.values.3 == sales.compactMap(\.price).min())
    }
    let paid = try query.grouped(by: \.isPaid, .count).map { [$0.key ? 1 : 0, $0.values] }
    #expect(
      paid
        == [false, true].map { isPaid in [isPaid ? 1 : 0, sales.count { $0.isPaid == isPaid }] }.filter {
          $0[1] > 0
        })

    try compareJoins(state, query, found, all)
  }

  private static func mean(_ sum: Double, _ count: Int) -> Double? { count == 0 ? nil : sum / Double(count) }

  private static func compareJoins<Model: Sale>(
    _ state: Catalog, _ query: ItemQuery<Model>, _ found: Sales, _ all: Sales
  ) throws {
    let joined = try query.including(\.customer)
    // Some sales have the number of no item, or that of another sale.
    #expect(joined.map(\.included?.id) == found.map { $0.sale.customer.flatMap { state.item($0)?.id } })
    #expect(joined.map(\.item.id.number) == found.map(\.id))
    let customers = state.items(Customer.self).dropFirst(1)
    let sides = try customers.including(Model.self, by: \.customer)
    #expect(sides.map(\.item.id) == customers.ids)
    for (customer, sales) in sides {
      #expect(sales.map(\.id.number) == all.filter { $0.sale.customer == customer.id }.map(\.id))
    }
  }

  private struct Delivery: CatalogItem {
    static let kind = "delivery"
    var customers: [ItemID<Customer>]
  }

  @Test func anItemThatRefersTwiceToAnotherIsIncludedOnce() throws {
    var history = CatalogHistory()
    try history.commit { draft in
      for name in ["first", "second"] { try draft.insert(Customer(name: name)) }
      try draft.insert(Delivery(customers: [2, 1, 2]))
      try draft.insert(Delivery(customers: [1, 9]))
    }
    let customers = try history.state.items(Customer.self).sorted(by: \.name, .descending)
    let sides = try customers.including(Delivery.self, by: \.customers)
    #expect(sides.map { $0.included.map(\.id) } == [[3], [3, 4]])
    let deliveries = try history.state.items(Delivery.self).including(\.customers)
    #expect(deliveries.map { $0.included.map(\.id) } == [[2, 1, 2], [1]])
  }

  // MARK: Exactness

  private struct Figure: CatalogItem {
    static let kind = "figure"
    static let indexes = [Index(\Figure.double), Index(\.decimal), Index(\.whole), Index(\.wide)]
    var double: Double?
    var decimal: Decimal?
    var whole: Int64?
    var wide: UInt64?
    var note: String?
  }

  private func sums<T>(
    _ figures: [Figure], _ answer: (ItemQuery<Figure>) throws -> T
  ) throws -> [Result<T, any Error>] {
    var history = CatalogHistory()
    try history.commit { draft in for figure in figures { try draft.insert(figure) } }
    let all = history.state.items(Figure.self)
    // By the index, by a scan, and of an answer.
    return try [all, all.filter(.isMissing(\.note)), all.prefix(figures.count)].map { query in
      Result { try answer(query) }
    }
  }

  @Test func sumsOfDoublesAreRoundedOnceAndDoNotDependOnTheOrder() throws {
    var random = SeededGenerator()
    let tenths = Array(repeating: 0.1, count: 10)
    let least = Double.leastNonzeroMagnitude
    let large = [1e100, 1, -1e100, 1, least, -least]
    let small: [Double] = [least, least, 2.2250738585072014e-308, -least]
    let halves = [0x1p53, 1, 0x1p-60]
    let beyond = [Double.greatestFiniteMagnitude, .greatestFiniteMagnitude]
    let cases: [([Double], Double)] = [
      (tenths, 1), (large, 2), (small, 2.225073858507202e-308), (halves, 0x1p53 + 2), ([0x1p53, 1], 0x1p53),
      ([-0x1p53, -1, -0x1p-60], -0x1p53 - 2), (beyond, .infinity), ([.infinity, 1], .infinity), ([], 0),
      ([-0.0], 0),
    ]
    for (numbers, sum) in cases {
      for found in try sums(
        numbers.shuffled(using: &random).map { Figure(double: $0) }, { try $0.sum(\.double) })
      {
        #expect(try found.get() == sum, "\(numbers)")
      }
    }
    for found in try sums([.infinity, -.infinity].map { Figure(double: $0) }, { try $0.sum(\.double) }) {
      #expect(try found.get().isNaN)
    }
    // With integers as the reference: no rounding before the end.
    let numbers = (0..<200).map { _ in Int64.random(in: -(1 << 53)...1 << 53, using: &random) }
    let scaled = numbers.map { Figure(double: Double($0) * 0x1p-70) }
    let exact = Double(numbers.map { Int128($0) }.reduce(0, +)) * 0x1p-70
    for found in try sums(scaled, { try $0.sum(\.double) }) { #expect(try found.get() == exact) }
  }

  @Test func sumsOfDecimalsAndIntegersAreExactOrAnError() throws {
    let cents = (0..<100).map { Decimal(sign: .minus, exponent: -2, significand: Decimal($0)) }
    for found in try sums(cents.map { Figure(decimal: $0) }, { try $0.sum(\.decimal) }) {
      #expect(try found.get() == Decimal(string: "-49.5"))
    }
    let long = ["3.33333333333333333333", "0.00000000000000000001", "184467440737095516"]
    for found in try sums(long.map { Figure(decimal: Decimal(string: $0)) }, { try $0.sum(\.decimal) }) {
      #expect(try found.get() == Decimal(string: "184467440737095519.33333333333333333334"))
    }
    let wide = [Figure(decimal: Decimal(string: "1e100")), Figure(decimal: Decimal(string: "1e-20"))]
    for found in try sums(wide, { try $0.sum(\.decimal) }) { expectTooLarge(found) }
    let most = [Figure(whole: .max, wide: .max), Figure(whole: 1), Figure(whole: .min)]
    for found in try sums(most, { try $0.sum(\.whole) }) { #expect(try found.get() == 0) }
    for found in try sums(most, { try ($0.max(\.wide), $0.min(\.whole), $0.average(\.whole)) }) {
      #expect(try found.get() == (UInt64.max, Int64.min, 0.0))
    }
    for found in try sums(Array(most.prefix(2)), { try $0.sum(\.whole) }) { expectTooLarge(found) }
    for found in try sums(most, { try $0.sum(\.wide) }) { expectTooLarge(found) }
  }

  private func expectTooLarge<T>(_ found: Result<T, any Error>, _ location: SourceLocation = #_sourceLocation)
  {
    #expect(sourceLocation: location) { try found.get() } throws: { ($0 as? JournalError)?.code == .tooLarge }
  }

  /// Each value comes back as it was stored, although an index has only its place in the order.
  @Test func theLeastTheGreatestAndTheDistinctValuesAreThoseOfTheItems() throws {
    let decimals = [
      "-0.1", "3.33333333333333333333", "100000000000000000000", "1267650600228229401496703205376", "1e40",
    ]
    for found in try sums(
      decimals.shuffled().map { Figure(decimal: Decimal(string: $0)) }, { try $0.distinct(\.decimal) })
    {
      #expect(try found.get() == decimals.map { Decimal(string: $0) })
    }
    let doubles = [
      -Double.infinity, -1e300, -0.1, 0, .leastNonzeroMagnitude, 0.1, 3, 0x1p53, 0x1p100, 1e300, .infinity,
    ]
    for found in try sums(doubles.shuffled().map { Figure(double: $0) }, { try $0.distinct(\.double) }) {
      #expect(try found.get() == doubles)
    }
    let notes = ["", "a", "fourteen bytes", "more than fourteen bytes", "Äpfel und Birnen"]
    for found in try sums(notes.map { Figure(note: $0) }, { try $0.sorted(by: \.note).distinct(\.note) })
      .prefix(1)
    {
      #expect(try found.get() == notes)
    }
  }

  // MARK: Work and errors

  @Test func whatAnIndexCoversReadsNoItem() throws {
    var random = SeededGenerator()
    var history = CatalogHistory()
    try history.commit { draft in for _ in 0..<300 { try draft.insert(IndexedSale.random(0, using: &random)) }
    }
    try history.rebaseNewestState()
    var state = history.state
    let base = CountedBase(try #require(state.itemTable.base))
    state.itemTable = EntityTable(base: base)
    try state.buildIndexes(of: IndexedSale.self)
    let counts = [base.rowCount, base.scanCount]
    let sales = state.items(IndexedSale.self)
    _ = try (
      sales.sum(\.price), sales.average(\.amount), sales.min(\.count), sales.max(\.price),
      sales.distinct(\.region)
    )
    _ = try sales.filter(\.count >= 2).sum(\.count)
    _ = try sales.grouped(by: \.region, .count, .sum(\.price), .max(\.amount))
    _ = try sales.filter(\.region == .north).grouped(by: \.region, .sum(\.count))
    #expect([base.rowCount, base.scanCount] == counts)
    _ = try sales.sum(\.fee)
    #expect(base.scanCount > counts[1] && base.rowCount == counts[0])
  }

  @Test func whatCanNotBeNamedOrAddedIsAnError() throws {
    var history = CatalogHistory()
    try history.commit { try $0.insert(IndexedSale(count: 1, isPaid: true, sizes: [])) }
    let sales = history.state.items(IndexedSale.self)
    func expectWrongUse(_ body: () throws -> Void) {
      #expect { try body() } throws: { ($0 as? JournalError)?.code == .wrongUse }
    }
    expectWrongUse { _ = try sales.sum(\.sizes.count) }
    expectWrongUse { _ = try sales.max(\.sizes.first) }
    expectWrongUse { _ = try sales.grouped(by: \.sizes.count, .count) }
    expectWrongUse { _ = try sales.grouped(by: \.region, .count, .sum(\.sizes.count)) }
    expectWrongUse { _ = try sales.filter(\.sizes.isEmpty) }
    expectWrongUse {
      _ = try history.state.items(Customer.self).including(IndexedSale.self, by: \.sizes.count)
    }
    try history.commit { draft in
      try draft.addItem(kind: "sale", attributes: ["count": "many", "isPaid": false, "sizes": []])
    }
    for sales in [
      history.state.items(IndexedSale.self),
      try history.state.items(IndexedSale.self).filter(!(\.fee == nil) || \.fee == nil),
    ] {
      #expect { try sales.sum(\.count) } throws: { "\($0)".contains("item:2 has another value") }
      #expect(throws: DecodingError.self) { try sales.max(\.count) }
      #expect(try sales.min(\.count) == 1 && sales.count == 2)
    }
  }

  @Test func theFirstItemWithAWrongValueIsNamedWhicheverThreadReadsIt() throws {
    var history = CatalogHistory()
    try history.commit { draft in
      for number in 1...20_000 {
        let count: FieldValue = number == 6_000 || number == 17_000 ? "many" : 1
        try draft.addItem(kind: "sale", attributes: ["count": count, "isPaid": false, "sizes": []])
      }
    }
    let sales = history.state.items(ScannedSale.self)
    #expect { try sales.sum(\.count) } throws: { "\($0)".contains("item:6000 has another value") }
  }

  @Test func sumsOfNumbersOfManyBitsDoNotDependOnTheOrder() throws {
    let numbers: [Int128] = [.max, .max, .min, 1, -1, .min, 5 << 64, 2]
    for shift in numbers.indices {
      var (sums, sum) = ([WholeSum(), WholeSum()], WholeSum())
      for (index, number) in (numbers[shift...] + numbers[..<shift]).enumerated() {
        #expect(try sums[index % 2].add(ValueKey(ValueEncoder().encode(number))))
      }
      for part in sums { sum.add(part) }
      #expect(sum.value == 5 << 64)
    }
  }

  @Test func resultsHaveThePropertiesOfTheirValues() throws {
    var history = CatalogHistory()
    try history.commit { draft in
      for count in 1...3 { try draft.insert(IndexedSale(count: count, isPaid: count > 1, sizes: [count])) }
    }
    let sales = history.state.items(IndexedSale.self)
    #expect(try sales.first?.sizes == [1])
    #expect(try sales.filter(\.isPaid).map(\.count) == [2, 3])
    #expect(try sales.sorted(by: \.count, .descending).map(\.count) == [3, 2, 1])
    #expect(try sales[0].sizes.count == 1 && sales.map { try $0.isPaid } == [false, true, true])
    let calls = Lock(0)
    let slow = ItemFilter<IndexedSale>.satisfies { sale in
      calls.withLock { $0 += 1 }
      return sale.sizes == [3]
    }
    // The closure runs after what is appended later.
    #expect(try sales.filter(slow).filter(\.count > 2).map(\.count) == [3])
    #expect(calls.withLock { $0 } == 1)
  }
}
