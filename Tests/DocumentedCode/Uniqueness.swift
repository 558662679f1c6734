// Kept as the page shows it.
// swift-format-ignore-file
import CatalogModel
import Foundation

/// The program of Documentation/Uniqueness.md.
func uniqueness() throws {
  struct Book: CatalogItem {
    static let kind = "book"
    static let rules: [Rule] = [
      .unique(\.isbn), .unique(\.author, \.title, ignoringCase: true), .required(\.title),
    ]
    var title: String
    var author: String
    var isbn: String?
    var price: Decimal?
  }

  struct PriceIsNegative: Error, CustomStringConvertible { let description = "a price is not negative" }

  let journal = try CatalogJournal.openOrCreate(at: URL(filePath: "Shop.journal"))
  try journal.declare(Book.self)
  journal.addCheck(of: Book.self) { before, after, catalog in
    if let price = after?.price, price < 0 { throw PriceIsNegative() }
  }
  try journal.commit(by: "ana") { try $0.insert(Book(title: "Dune", author: "Frank Herbert", isbn: "9780441013593")) }
  for wrong in [Book(title: "DUNE", author: "Frank Herbert"), Book(title: "Emma", author: "Jane Austen", price: -1)] {
    do {
      try journal.commit(by: "bob") { try $0.insert(wrong) }
    } catch let error as JournalError where error.code == .rejected {
      print(error.message)
    }
  }
  try journal.commit(by: "eve", note: "from the supplier") { draft in
    let book = Book(title: "Dune", author: "Frank Herbert", isbn: "9780441013593", price: 12.5)
    try draft.upsert(book, by: \.isbn)
  }
  print(try journal.state.items(Book.self).values.compactMap(\.price))
}
