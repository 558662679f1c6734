import CBOR

/// Rules that the methods of the draft check before they record anything. They are stricter than the rules that every
/// catalog must fulfill (``Catalog/problems(after:since:)``), so old entries stay valid if a rule here changes.
///
/// Each check throws a ``JournalError`` with code `rejected` and a sentence that names the entity.
enum Rules {
  /// The maximum bytes of UTF-8 in a name, a kind or a media type. Linux has the same limit for paths.
  static let nameByteLimit = 4_096

  static func rejected(_ message: String) -> JournalError { JournalError(.rejected, message) }

  /// Throws if a name is empty, only white space, or too long.
  static func checkName(_ name: String, _ part: String, of entity: EntityKey) throws(JournalError) {
    // Most names begin with an ASCII letter, which is faster to check than Unicode properties.
    let beginsPlainly = name.utf8.first.map { (UInt8(ascii: "!")...UInt8(ascii: "~")).contains($0) } ?? false
    if !beginsPlainly, name.allSatisfy(\.isWhitespace) {
      throw rejected("the \(part) of \(Catalog.name(of: entity)) is empty; give it one")
    }
    let count = name.utf8.count
    if count > nameByteLimit {
      throw rejected(
        "the \(part) of \(Catalog.name(of: entity)) has \(count) bytes, and may have \(nameByteLimit)")
    }
  }

  static func checkColor(_ color: Catalog.Color?, of entity: EntityKey) throws(JournalError) {
    guard let color else { return }
    let components = [color.red, color.green, color.blue, color.alpha]
    if !components.allSatisfy(\.isFinite) {
      throw rejected("the color of \(Catalog.name(of: entity)) has a component that is not a finite number")
    }
  }

  static func checkBlob(_ blob: Blob, of entity: EntityKey) throws(JournalError) {
    if blob.byteCount < 0 {
      throw rejected("the blob of \(Catalog.name(of: entity)) has a byte count below zero")
    }
  }
}

extension Catalog {
  /// Throws unless an item may be in a category.
  func checkCategory(_ category: CategoryID?, for item: EntityKey) throws(JournalError) {
    guard let category, categoryTable[category.number] == nil else { return }
    throw Rules.rejected(
      "\(Self.name(of: item)) can't be in \(Self.name(of: category.entity)): "
        + absence(of: category.entity))
  }

  func checkPresence(of entity: EntityKey) throws(JournalError) { _ = try presentRecord(of: entity) }

  /// The record of an entity that is to be changed. Throws if the entity does not exist.
  func presentRecord(of entity: EntityKey) throws(JournalError) -> EntityRecord {
    if let record = record(of: entity) { return record }
    throw Rules.rejected("\(Self.name(of: entity)) can't be changed or deleted: " + absence(of: entity))
  }

  /// The reason why an entity does not exist.
  func absence(of entity: EntityKey) -> String {
    let revision = revision(of: entity)
    if revision == 0 { return "it never existed" }
    return isErased(entity) ? "it was erased" : "it was deleted by revision \(revision)"
  }
}
