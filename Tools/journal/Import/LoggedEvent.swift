import CBOR
import CatalogModel
import EntitySearch
import Foundation
import SHA256

/// An event as `log --json` prints it, also with `--patch`, read back exactly: the reverse of
/// ``Catalog/json(of:)-(JournalEvent)`` and ``Catalog/json(of:changing:)``.
struct LoggedEvent: Sendable {
  /// The two forms of `changes`.
  enum Form: Sendable {
    /// The new values: `{"kind":"book","attributes":{"title":"Dune"},"removed":["lent"]}`.
    case values
    /// The old and the new value of each part: `{"title":{"old":"Dun","new":"Dune"},"@kind":{"new":"book"}}`.
    case parts
  }

  let entity: EntityKey
  /// The revision of the entity's event before; nil if the event does not say it.
  let previous: Revision?
  let change: JournalEvent.Change

  /// - Parameter form: the form of earlier events of the same log, which decides if this one could have both. Set to the
  ///   form of this event if it is known.
  /// - Throws: ``JournalError`` with code `wrongUse`.
  init(_ value: FieldValue, form: inout Form) throws(JournalError) {
    guard let members = value.dictionary else { throw Self.wrong("an event is an object") }
    let names = ["operation", "entity", "previous", "erased", "changes", "label"]
    if let unknown = members.keys.filter({ !names.contains($0) }).min() {
      throw Self.wrong("an event has no member \"\(unknown)\"; it may have \(names.joined(separator: ", "))")
    }
    guard let name = members["entity"]?.string else { throw Self.wrong("an event lacks entity") }
    entity = try Catalog.entity(named: name)
    previous = members["previous"]?.integer
    let changes = members["changes"] ?? .dictionary([:])
    guard let changes = changes.dictionary else { throw Self.wrong("changes is an object") }
    let isErased = members["erased"]?.bool == true
    switch members["operation"]?.string {
    case "add" where isErased: change = .erased(.add)
    case "update" where isErased: change = .erased(.update)
    case "delete": change = .delete
    case "add":
      let parts = try Self.parts(changes, of: entity.kind, &form)
      guard parts.removed.isEmpty else { throw Self.wrong("an add of \(name) removes nothing") }
      change = .add(EntityRecord(parts.attributes, fields: parts.fields))
    case "update":
      let parts = try Self.parts(changes, of: entity.kind, &form)
      change = .update(
        RecordChanges(
          set: parts.attributes, remove: parts.removed.compactMap(\.attribute), setFields: parts.fields,
          removeFields: Set(parts.removed.compactMap(\.field))))
    default: throw Self.wrong("operation is add, update or delete")
    }
  }

  private struct Parts {
    var fields: [UInt8: FieldValue] = [:]
    var attributes: [String: FieldValue] = [:]
    var removed: [FieldKey] = []

    mutating func set(_ key: FieldKey, to value: FieldValue?, of kind: EntityKind) throws(JournalError) {
      switch key {
      case _ where value == nil: removed.append(key)
      case .field(let number): fields[number] = try LoggedEvent.stored(value, number, of: kind)
      case .attribute(let name): attributes[name] = value
      }
    }
  }

  private static func parts(
    _ changes: [String: FieldValue], of kind: EntityKind, _ form: inout Form
  ) throws(JournalError) -> Parts {
    var parts = Parts()
    if let found = self.form(of: changes, kind) { form = found }
    if form == .parts, changes.allSatisfy({ isChange($0.value) }) {
      for (name, values) in changes {
        guard let key = Catalog.key(named: name, of: kind) else {
          throw wrong("\(Catalog.kindName(of: kind)) has no field \(name)")
        }
        try parts.set(key, to: values["new"], of: kind)
      }
      guard kind != .image || parts.fields[ImageField.digest] == nil else {
        throw wrong("the size of an image is missing, which log --patch omits; use log without it")
      }
      return parts
    }
    let fields = Catalog.fieldNames(of: kind)
    for (name, value) in changes {
      if let number = fields.firstIndex(of: name) {
        // Only what an entity can lack may be null.
        let isRemoved = value.isNull && ["category", "color"].contains(name)
        try parts.set(.field(UInt8(number)), to: isRemoved ? nil : value, of: kind)
      } else if name == "attributes", kind == .item || kind == .rule, let set = value.dictionary {
        parts.attributes = set
      } else if name == "removed", kind == .item, let names = value.array {
        for name in names {
          guard let name = name.string else { throw wrong("removed has an element that is not a text") }
          parts.removed.append(.attribute(name))
        }
      } else {
        throw wrong("changes of \(Catalog.kindName(of: kind)) can't have \(name) with such a value")
      }
    }
    return parts
  }

  /// The form of changes; nil if they could have both.
  private static func form(of changes: [String: FieldValue], _ kind: EntityKind) -> Form? {
    if changes.isEmpty { return nil }
    guard changes.allSatisfy({ isChange($0.value) }) else { return .values }
    // An update of the attribute "attributes" alone, or of the attributes "old" and "new".
    return changes.count == 1 && changes["attributes"] != nil ? nil : .parts
  }

  private static func isChange(_ value: FieldValue) -> Bool {
    guard let members = value.dictionary, !members.isEmpty else { return false }
    return members.keys.allSatisfy { $0 == "old" || $0 == "new" }
  }

  /// The value of a field as a record has it, where JSON shows another: the reverse of ``Catalog/shown(_:_:of:)``.
  private static func stored(
    _ value: FieldValue?, _ number: UInt8, of kind: EntityKind
  ) throws(JournalError) -> FieldValue? {
    switch (kind, number, value) {
    case (.category, CategoryField.color, .string(let hex)?):
      guard let color = Catalog.Color(hex: hex) else { throw wrong("color is #RRGGBBAA, not \"\(hex)\"") }
      return .array([color.red, color.green, color.blue, color.alpha].map { .double($0) })
    case (.image, ImageField.digest, .string(let hex)?):
      guard let digest = ContentDigest(hex: hex) else { throw wrong("sha256 has 64 hexadecimal digits") }
      return .data(Data(digest.bytes))
    default: return value
    }
  }

  private static func wrong(_ message: String) -> JournalError { JournalError(.wrongUse, message) }
}

extension FieldKey {
  fileprivate var attribute: String? { if case .attribute(let name) = self { name } else { nil } }
  fileprivate var field: UInt8? { if case .field(let number) = self { number } else { nil } }
}
