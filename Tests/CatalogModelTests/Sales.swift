import CatalogModel
import Foundation
import TestSupport

enum Region: String, Codable, QueryValue, CaseIterable { case north, south, west }

struct Cents: RawRepresentable, Codable, Hashable, QueryNumber { var rawValue: Int }

struct Customer: CatalogItem, Equatable {
  static let kind = "customer"
  var name: String
}

/// Sales have numbers of each type that queries add up.
protocol Sale: CatalogItem {
  var region: Region? { get }
  var count: Int { get }
  var amount: Double? { get }
  var price: Decimal? { get }
  var fee: Cents? { get }
  var isPaid: Bool { get }
  var sizes: [Int] { get }
  var words: [String]? { get }
  var customer: ItemID<Customer>? { get }
}

struct IndexedSale: Sale, Equatable {
  static let kind = "sale"
  static let indexes = [
    Index(\IndexedSale.region), Index(\.count), Index(\.amount), Index(\.price), Index(\.sizes),
    Index(\.words),
    Index(\.customer), Index(\.isPaid),
  ]
  var region: Region?
  var count: Int
  var amount: Double?
  var price: Decimal?
  var fee: Cents?
  var isPaid: Bool
  var sizes: [Int]
  var words: [String]?
  var customer: ItemID<Customer>?

  static func random(_ customers: Int, using random: inout SeededGenerator) -> IndexedSale {
    let prices: [Decimal?] = [
      nil, 0, 1.5, Decimal(string: "0.1"), Decimal(string: "-3.33333333333333333333"), 1_000,
    ]
    return IndexedSale(
      region: ([nil] + Region.allCases).randomElement(using: &random)!,
      count: .random(in: -3...6, using: &random),
      // Sums of these are exact, whatever their order.
      amount: Bool.random(using: &random) ? nil : Double(Int.random(in: -40...40, using: &random)) / 8,
      price: prices.randomElement(using: &random)!,
      fee: Bool.random(using: &random) ? nil : Cents(rawValue: .random(in: 0...99, using: &random)),
      isPaid: .random(using: &random),
      sizes: (0..<Int.random(in: 0...3, using: &random)).map { _ in .random(in: 1...9, using: &random) },
      words: Bool.random(using: &random)
        ? nil : ["multi", "mule", "cow", "m", ""].filter { _ in .random(using: &random) },
      customer: customers == 0 || Bool.random(using: &random)
        ? nil : ItemID(.random(in: 1...customers + 1, using: &random)))
  }
}

/// A type of the same items that declares no index.
struct ScannedSale: Sale {
  static let kind = "sale"
  var region: Region?
  var count: Int
  var amount: Double?
  var price: Decimal?
  var fee: Cents?
  var isPaid: Bool
  var sizes: [Int]
  var words: [String]?
  var customer: ItemID<Customer>?
}

/// A filter, and its meaning as a predicate.
struct SaleQuestion<Model: Sale> {
  let filter: ItemFilter<Model>
  let holds: (IndexedSale) -> Bool

  static func random(using random: inout SeededGenerator) -> SaleQuestion {
    let number = Int.random(in: 0...9, using: &random)
    let region = Region.allCases.randomElement(using: &random)!
    switch Int.random(in: 0..<16, using: &random) {
    case 0: return SaleQuestion(filter: \.count >= number - 3) { $0.count >= number - 3 }
    case 1: return SaleQuestion(filter: \.region == region) { $0.region == region }
    case 2: return SaleQuestion(filter: \.region != region) { $0.region != region }
    case 3: return SaleQuestion(filter: \.sizes < number) { $0.sizes.contains { $0 < number } }
    case 4: return SaleQuestion(filter: \.sizes <= number) { $0.sizes.contains { $0 <= number } }
    case 5: return SaleQuestion(filter: \.sizes > number) { $0.sizes.contains { $0 > number } }
    case 6: return SaleQuestion(filter: \.sizes >= number) { $0.sizes.contains { $0 >= number } }
    case 7: return SaleQuestion(filter: 3...5 ~= \.sizes) { $0.sizes.contains { (3...5).contains($0) } }
    case 8: return SaleQuestion(filter: 3..<5 ~= \.sizes) { $0.sizes.contains { (3..<5).contains($0) } }
    case 9:
      return SaleQuestion(filter: .isOne(of: [1, number], \.sizes)) {
        $0.sizes.contains { [1, number].contains($0) }
      }
    case 10:
      return SaleQuestion(filter: .prefix(\.words, "mul")) {
        $0.words?.contains { $0.hasPrefix("mul") } ?? false
      }
    case 11: return SaleQuestion(filter: .contains(\.words, "cow")) { $0.words?.contains("cow") ?? false }
    case 12: return SaleQuestion(filter: \.words > "mu") { $0.words?.contains { $0 > "mu" } ?? false }
    case 13:
      return SaleQuestion(filter: .satisfies { $0.sizes.count == 2 } && \.count < number) {
        $0.sizes.count == 2 && $0.count < number
      }
    case 14: return SaleQuestion(filter: \.amount < 1) { $0.amount.map { $0 < 1 } ?? false }
    default: return SaleQuestion(filter: !.satisfies { $0.isPaid } || \.isPaid == true) { _ in true }
    }
  }
}

extension Draft<Catalog> {
  /// Adds, changes or deletes a sale, or adds a customer.
  mutating func changeSales(using random: inout SeededGenerator) throws {
    let customers = state.items(Customer.self).count
    let sales = state.items(IndexedSale.self).ids
    switch (Int.random(in: 0..<8, using: &random), sales.randomElement(using: &random)) {
    case (0, _): try insert(Customer(name: "customer \(customers)"))
    case (1...2, let sale?): try update(sale) { $0 = .random(customers, using: &random) }
    case (3, let sale?): try delete(sale)
    default: try insert(IndexedSale.random(customers, using: &random))
    }
  }
}
