import CatalogModel
import Foundation

/// An item of a snapshot as an app would have it: a class that is encoded field by field.
///
/// Its attributes are fields of it and not a dictionary. Foundation's archiver for Linux takes time that grows with
/// the square of the number of dictionaries, and would not come to an end; so it is given fewer objects.
final class ArchivedItem: NSObject, NSCoding {
  private let number: Int
  private let created: Int
  private let modified: Int
  private let kind: String
  private let name: String
  private let note: String
  private let amount: Int
  private let price: Double
  private let seen: Date

  /// - Parameter item: of the kind that ``SampleData`` makes.
  init?(_ item: Item) {
    let attributes = item.attributes
    guard case .string(let name) = attributes["name"], case .string(let note) = attributes["note"],
      case .integer(let amount) = attributes["count"], case .double(let price) = attributes["price"],
      case .date(let seen) = attributes["seen"]
    else { return nil }
    number = item.id
    created = item.created
    modified = item.modified
    kind = item.kind
    self.name = name
    self.note = note
    self.amount = Int(amount)
    self.price = price
    self.seen = seen
  }

  init?(coder: NSCoder) {
    guard let kind = coder.decodeObject(forKey: "kind") as? String,
      let name = coder.decodeObject(forKey: "name") as? String,
      let note = coder.decodeObject(forKey: "note") as? String,
      let seen = coder.decodeObject(forKey: "seen") as? NSDate
    else { return nil }
    number = coder.decodeInteger(forKey: "number")
    created = coder.decodeInteger(forKey: "created")
    modified = coder.decodeInteger(forKey: "modified")
    amount = coder.decodeInteger(forKey: "count")
    price = coder.decodeDouble(forKey: "price")
    self.kind = kind
    self.name = name
    self.note = note
    self.seen = seen as Date
  }

  func encode(with coder: NSCoder) {
    coder.encode(number, forKey: "number")
    coder.encode(created, forKey: "created")
    coder.encode(modified, forKey: "modified")
    coder.encode(kind, forKey: "kind")
    coder.encode(name, forKey: "name")
    coder.encode(note, forKey: "note")
    coder.encode(amount, forKey: "count")
    coder.encode(price, forKey: "price")
    coder.encode(seen as NSDate, forKey: "seen")
  }
}

/// Foundation's own archiver and unarchiver.
enum FoundationPeer {
  /// Writes the items to a file, which is not flushed, and gives the seconds.
  static func write(_ items: [ArchivedItem], to url: URL) throws -> Double {
    try timed {
      try NSKeyedArchiver.archivedData(withRootObject: items as NSArray, requiringSecureCoding: false)
        .write(to: url)
    }
  }

  /// Reads all items of a file, and gives the seconds.
  static func read(_ url: URL, count: Int) throws -> Double {
    var items: [ArchivedItem]?
    let seconds = try timed {
      let unarchiver = try NSKeyedUnarchiver(forReadingFrom: Data(contentsOf: url))
      unarchiver.requiresSecureCoding = false
      items = unarchiver.decodeObject(forKey: NSKeyedArchiveRootObjectKey) as? [ArchivedItem]
    }
    guard items?.count == count else {
      throw PeerFailure(description: "The unarchiver gives \(items?.count ?? 0) of \(count) items.")
    }
    return seconds
  }
}
