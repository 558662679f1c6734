import CatalogModel
import Foundation

/// Foundation's own archiver and unarchiver.
enum FoundationPeer {
  /// Writes items to a file, which is not flushed, and returns the seconds.
  static func write(_ items: [ArchivedItem], to url: URL) throws -> Double {
    try timed {
      try NSKeyedArchiver.archivedData(withRootObject: items as NSArray, requiringSecureCoding: false)
        .write(to: url)
    }
  }

  /// Reads a snapshot, which is a keyed archive, and returns the seconds.
  /// - Parameter count: how many items it must have, with all their attributes.
  /// - Throws: ``PeerFailure`` if it has others.
  static func read(_ snapshot: URL, count: Int) throws -> Double {
    var root: NSDictionary?
    let seconds = try timed {
      let unarchiver = try NSKeyedUnarchiver(forReadingFrom: Data(contentsOf: snapshot))
      unarchiver.requiresSecureCoding = false
      unarchiver.setClass(UnarchivedItem.self, forClassName: "JournalItem")
      root = unarchiver.decodeObject(forKey: NSKeyedArchiveRootObjectKey) as? NSDictionary
    }
    let items = (root?["entities"] as? NSDictionary)?["item"] as? [UnarchivedItem] ?? []
    guard items.count == count, items.allSatisfy({ $0.attributeCount == SampleData.attributeCount }) else {
      throw PeerFailure(description: "The unarchiver gives \(items.count) of \(count) items.")
    }
    return seconds
  }
}

/// An item as an app would archive it: a class that is encoded field by field.
///
/// Its attributes are fields of the object instead of a dictionary, so its archive has fewer objects than a snapshot.
/// With dictionaries, the time of Foundation's archiver for Linux grows with the square of their number: at 800 items
/// it takes 46 ms an item. Without them, it takes the same few tenths of a millisecond an item at any size.
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
  init?(_ item: Catalog.Item) {
    let attributes = item.attributes
    guard case .string(let name) = attributes["name"], case .string(let note) = attributes["note"],
      case .integer(let amount) = attributes["count"], case .double(let price) = attributes["price"],
      case .date(let seen) = attributes["seen"]
    else { return nil }
    number = item.id.number
    created = item.created
    modified = item.modified
    kind = item.kind
    self.name = name
    self.note = note
    self.amount = Int(amount)
    self.price = price
    self.seen = seen
  }

  /// Archives of these items are only written.
  init?(coder: NSCoder) { return nil }

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

/// An item as a snapshot has it.
private final class UnarchivedItem: NSObject, NSCoding {
  private let number: Int
  private let created: Int
  private let modified: Int
  private let kind: String
  private let attributes: NSDictionary

  var attributeCount: Int { attributes.count }

  init?(coder: NSCoder) {
    guard let kind = coder.decodeObject(forKey: "kind") as? String,
      let attributes = coder.decodeObject(forKey: "attributes") as? NSDictionary
    else { return nil }
    number = coder.decodeInteger(forKey: "number")
    created = coder.decodeInteger(forKey: "created")
    modified = coder.decodeInteger(forKey: "modified")
    self.kind = kind
    self.attributes = attributes
  }

  /// Snapshots are only read.
  func encode(with coder: NSCoder) {}
}
