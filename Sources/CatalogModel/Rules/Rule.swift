import CBOR
import SHA256

extension Catalog {
  /// A rule that all items of a kind keep, whichever program changes them. The journal records the rule as an entity,
  /// so it applies to commits, restores, reverts, imports, the command line, HTTP and other nodes.
  ///
  /// A type of items declares rules (``CatalogItem/rules``), and `Journal.declare(_:by:)` records them.
  public struct Rule: Identifiable, Hashable, Sendable {
    /// The number, from 1: `rule:3` has 3.
    public let id: EntityID<Catalog.Rule>
    /// The kind of the items.
    public let kind: String
    /// What the rule demands.
    public let form: Form
    /// The paths of the attributes.
    package let paths: [AttributePath]

    /// What a rule demands of its attributes.
    public enum Form: Hashable, Sendable {
      /// The attribute is missing, or has the number of an existing item or an array of such numbers. If `to` is not
      /// nil, these items are of the kind `to`.
      case reference(to: String?, onDelete: DeleteAction)
      /// No two items of the kind have equal values of all attributes. Items that lack one are not compared.
      case unique(ignoringCase: Bool)
      /// Each item of the kind has the attribute, and it is not null.
      case required
      /// A record that the journal has had the migration of this name. It concerns no kind.
      case migration(String, isBreaking: Bool)
      /// A form that this version of the library does not know. So this version can't change items.
      case unknown(String)
    }

    /// What the deletion of an item does to the items that refer to it.
    public enum DeleteAction: String, Hashable, Sendable {
      /// The referring items prevent the deletion.
      case deny
      /// The referring items are deleted too.
      case cascade
      /// The referring items lose the reference.
      case nullify
      /// The referring items keep the number even if no item has it. References of this rule are never checked.
      case keep
    }

    package init(_ id: EntityID<Catalog.Rule>, kind: String, _ form: Form, _ paths: [AttributePath]) {
      self.id = id
      self.kind = kind
      self.form = form
      self.paths = paths
    }
  }
}

// For people only: the names of an attribute and of members inside it are joined with dots.
extension Catalog.Rule {
  /// The names of the attributes. The name of a dictionary's member has dots: `place.owner`.
  public var attributes: [String] { paths.map { $0.names.joined(separator: ".") } }

  /// Whether the two rules have the same form and attributes, so that a kind can have only one of them.
  func replaces(_ other: Catalog.Rule) -> Bool {
    guard kind == other.kind, paths == other.paths else { return false }
    switch (form, other.form) {
    case (.reference, .reference), (.unique, .unique), (.required, .required): return true
    default: return false
    }
  }
}

extension Catalog.Rule: CustomStringConvertible {
  /// The rule for a person: `isbn of book is unique`.
  public var description: String {
    let subject = "\(attributes.joined(separator: " and ")) of \(kind)"
    switch form {
    case .reference(let target, let action):
      return "\(subject) refers to \(target ?? "an item"), on delete \(action.rawValue)"
    case .unique(let ignoringCase): return "\(subject) is unique\(ignoringCase ? ", ignoring case" : "")"
    case .required: return "\(subject) is required"
    case .migration(let name, _): return "the migration \"\(name)\" was made"
    case .unknown(let form): return "\(subject) follows a rule of the unknown form \"\(form)\""
    }
  }

  /// The rule with its number: `rule:3: isbn of book is unique`.
  var named: String { "\(Catalog.name(of: id.entity)): \(self)" }
}

// MARK: Records

/// The names of a rule's attributes.
private enum RuleAttribute {
  static let paths = "paths"
  static let target = "target"
  static let onDelete = "onDelete"
  static let ignoresCase = "ignoresCase"
  static let name = "name"
  static let isBreaking = "isBreaking"
}

extension Catalog.Rule {
  /// Decodes the rule in a record. If any part of the record is unknown, the form is `unknown`.
  init(number: Int, record: EntityRecord) {
    let fields = try? RuleFields(record)
    let form = fields.map { record.text(at: $0.form) } ?? ""
    var rest = record.attributes
    let paths = (rest.removeValue(forKey: RuleAttribute.paths)?.array ?? []).map { path in
      AttributePath((path.array ?? []).map { $0.string ?? "" })
    }
    let parsed = Form(form, &rest, count: paths.count)
    let isKnown = rest.isEmpty && !paths.contains { $0.names.isEmpty || $0.names.contains("") }
    self.init(
      EntityID(number), kind: fields.map { record.text(at: $0.kind) } ?? "",
      (isKnown ? parsed : nil) ?? .unknown(form), paths)
  }

  var record: EntityRecord {
    var attributes: [String: FieldValue] = [
      RuleAttribute.paths: .array(paths.map { .array($0.names.map { .string($0) }) })
    ]
    switch form {
    case .reference(let target, let action):
      attributes[RuleAttribute.target] = target.map { .string($0) }
      attributes[RuleAttribute.onDelete] = .string(action.rawValue)
    case .unique(let ignoringCase): if ignoringCase { attributes[RuleAttribute.ignoresCase] = .bool(true) }
    case .migration(let name, let isBreaking):
      attributes = [RuleAttribute.name: .string(name), RuleAttribute.isBreaking: .bool(isBreaking)]
    case .required, .unknown: break
    }
    return EntityRecord(
      attributes, fields: [RuleField.form: .string(form.name), RuleField.kind: .string(kind)])
  }
}

extension Catalog.Rule.Form {
  var name: String {
    switch self {
    case .reference: "reference"
    case .unique: "unique"
    case .required: "required"
    case .migration: "migration"
    case .unknown(let name): name
    }
  }

  /// Makes a form from a rule's attributes, and removes the form's own attributes from them. Nil if this version knows
  /// no such form, or the attributes do not fit.
  fileprivate init?(_ name: String, _ attributes: inout [String: FieldValue], count: Int) {
    switch name {
    case "reference":
      guard count == 1,
        let action = attributes.removeValue(forKey: RuleAttribute.onDelete)?.string
          .flatMap({ Catalog.Rule.DeleteAction(rawValue: $0) })
      else { return nil }
      let target = attributes.removeValue(forKey: RuleAttribute.target)
      if let target, target.string == nil { return nil }
      self = .reference(to: target?.string, onDelete: action)
    case "unique":
      let ignoringCase = attributes.removeValue(forKey: RuleAttribute.ignoresCase)
      guard count > 0, ignoringCase == nil || ignoringCase?.bool != nil else { return nil }
      self = .unique(ignoringCase: ignoringCase?.bool ?? false)
    case "required":
      guard count == 1 else { return nil }
      self = .required
    case "migration":
      guard count == 0, let name = attributes.removeValue(forKey: RuleAttribute.name)?.string,
        let isBreaking = attributes.removeValue(forKey: RuleAttribute.isBreaking)?.bool
      else { return nil }
      self = .migration(name, isBreaking: isBreaking)
    default: return nil
    }
  }
}

// MARK: What items have

extension Catalog.Rule {
  /// The numbers of the items that a record refers to by this rule.
  func targets(in record: EntityRecord) -> [Int] {
    guard case .reference = form else { return [] }
    return record.integers(at: paths[0]).numbers
  }

  /// Whether the rule guarantees that the items to which it refers exist.
  var holdsTargets: Bool {
    if case .reference(_, let action) = form { action != .keep } else { false }
  }

  /// The values that must be unique; nil if the item has no comparable value for one of the attributes.
  func key(of record: EntityRecord) -> [ValueKey]? {
    guard case .unique(let ignoringCase) = form else { return nil }
    var key: [ValueKey] = []
    for path in paths {
      var part = record.key(at: path)
      if part == .missing || part == .composite { return nil }
      if ignoringCase, case .string(let text)? = record.value(at: path) {
        part = ValueKey(.string(text.lowercased()))
      }
      key.append(part)
    }
    return key
  }

  /// The group of the index by keys in which items with a key are listed, possibly with items that have other keys.
  func group(of key: [ValueKey]) -> Int {
    var hash = SHA256Hash()
    hash.update(UInt64(id.number))
    for part in key {
      let (head, tail) = part.parts
      hash.update(UInt64(truncatingIfNeeded: head >> 64))
      hash.update(UInt64(truncatingIfNeeded: head))
      // The head has a text's length only up to a limit, so the length of the tail is hashed too.
      if let tail {
        hash.update(UInt64(tail.count))
        hash.update(tail)
      }
    }
    return unsafe hash.finish().withUnsafeBytes { bytes in
      unsafe Int(bytes.loadUnaligned(as: UInt64.self).bigEndian >> 2)
    }
  }

  /// Returns a record without this rule's references to some items; the same record if it has no such reference.
  func removing(_ numbers: Set<Int>, from record: EntityRecord) -> EntityRecord {
    guard !numbers.isDisjoint(with: targets(in: record)), let name = paths[0].names.first,
      let value = record[name]
    else { return record }
    let new = value.removing(Set(numbers.map { .integer(Int64($0)) }), at: paths[0].names.dropFirst())
    return record.applying(
      RecordChanges(set: new.map { [name: $0] } ?? [:], remove: new == nil ? [name] : []))
  }
}

extension FieldValue {
  /// Removes the value at a path if it is one of some values, or these values from an array at the path. Nil if the
  /// whole value is removed.
  fileprivate func removing(_ values: Set<FieldValue>, at path: ArraySlice<String>) -> FieldValue? {
    switch self {
    case .dictionary(var members) where !path.isEmpty:
      guard let name = path.first, let member = members[name] else { return self }
      members[name] = member.removing(values, at: path.dropFirst())
      return .dictionary(members)
    case .array(let elements) where path.isEmpty: return .array(elements.filter { !values.contains($0) })
    default: return values.contains(self) ? nil : self
    }
  }
}
