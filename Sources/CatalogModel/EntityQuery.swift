package import CBOR
public import Foundation
import JSON

/// A query for entities that match all of its criteria.
public struct EntityQuery: Hashable, Sendable {
  /// A value that a part of an entity must have.
  public struct Condition: Hashable, Sendable {
    /// An attribute, a path inside one such as `name.common`, or one of the catalog's fields such as `@category`.
    public var field: String { didSet { path = Self.path(of: field) } }
    /// The value in JSON, or a plain text. Texts are equal if their UTF-8 bytes are. A date may be written as the command
    /// line prints it, `2026-08-01 10:00:00`, or shorter, `2026-08-01 10:00`, `2026-08-01` or `2026-08`, in UTC unless
    /// it names another zone. A part that is missing is `null`.
    public var value: String {
      didSet {
        isNull = Self.isNull(value)
        timestamp = date
      }
    }
    /// The zone of a date that names none.
    var timeZone = TimeZone.gmt { didSet { timestamp = date } }
    /// The values that match, if not only ``value`` does.
    var ranges: [ValueRange]?
    /// Whether it must not hold.
    var isNegated = false
    /// The field as it is found without decoding other parts; nil for a field that has to be interpreted.
    private(set) var path: AttributePath?
    /// Whether the value is null.
    private var isNull: Bool
    /// The value as a date, if it is one.
    private var timestamp: Timestamp?

    /// The value as a date; nil for a day that did not exist.
    private var date: Timestamp? { (try? Timestamp(shown: value, in: timeZone)) ?? nil }

    /// The condition that the part with that name has that value.
    public init(_ field: String, is value: String) {
      self.field = field
      self.value = value
      path = Self.path(of: field)
      isNull = Self.isNull(value)
      timestamp = date
    }
  }

  /// An entity's name, such as `item:42`, or a text that is part of the label or of a text in the entity, ignoring
  /// case. The texts are those of the attributes, also inside arrays and dictionaries (but not their keys), the kind of
  /// an item, and the name and the media type of an image.
  public var text: String?
  /// The kind of items. `category`, `image` and `tag` stand for the other kinds of entities.
  public var kind: String?
  /// The categories of the items.
  public var categories: Set<CategoryID>?
  /// The conditions on parts.
  public var conditions: [Condition]

  /// Makes a query, by default for all entities.
  public init(
    text: String? = nil, kind: String? = nil, categories: Set<CategoryID>? = nil, conditions: [Condition] = []
  ) {
    self.text = text
    self.kind = kind
    self.categories = categories
    self.conditions = conditions
  }

  /// Whether an entity with that record matches.
  public func matches(_ entity: EntityKey, _ record: EntityRecord) -> Bool {
    // Texts are equal if their bytes are, as in indexes.
    if let kind, !Catalog.kindName(of: record, entity.kind).utf8.elementsEqual(kind.utf8) { return false }
    if let categories {
      guard entity.kind == .item, let category = (try? ItemFields(record))?.category,
        categories.contains(CategoryID(category))
      else { return false }
    }
    return conditions.allSatisfy { $0.holds(of: record, entity.kind) } && hasText(entity, record)
  }

  /// The entity that the text names, or nil if it names none.
  public var namedEntity: EntityKey? {
    text.flatMap { $0.contains(":") ? try? Catalog.entity(named: $0) : nil }
  }

  private func hasText(_ entity: EntityKey, _ record: EntityRecord) -> Bool {
    guard let text else { return true }
    if let named = namedEntity { return named == entity }
    if let label = Catalog.label(of: record, of: entity.kind), label.containsIgnoringCase(text) {
      return true
    }
    var found = false
    record.visit { _, value in
      if !found, value.hasText(text) { found = true }
    }
    return found
  }
}

extension EntityQuery.Condition {
  /// The condition that a text states as people write it: `stars>=4`, `title^=Du`, `author!=ana`, `title=Dune`, or
  /// `stars=null` for what has no stars.
  /// - Parameters:
  ///   - text: a field, one of `=`, `!=`, `<`, `<=`, `>`, `>=` and `^=` (begins with), and a value.
  ///   - timeZone: the zone of a date that names none.
  /// - Throws: `JournalError` with code `wrongUse` if the text has another form, or `invalidSelector` for a day that did
  ///   not exist in the zone.
  public init(parsing text: String, timeZone: TimeZone = .gmt) throws(JournalError) {
    let operators = ["!=", ">=", "<=", "^=", "=", ">", "<"]
    let places = operators.compactMap { sign in text.firstRange(of: sign).map { (sign, $0) } }
    // The first operator counts. If two begin at the same place, the longer one does.
    let first = places.min { ($0.1.lowerBound, $1.0.count) < ($1.1.lowerBound, $0.0.count) }
    let field = first.map { text[..<$0.1.lowerBound].trimmingCharacters(in: .whitespaces) } ?? ""
    guard let (sign, place) = first, !field.isEmpty else {
      throw JournalError(
        .wrongUse, "a condition is FIELD=VALUE, or with !=, <, <=, >, >= or ^= (begins with), not \"\(text)\""
      )
    }
    let value = text[place.upperBound...]
    if value.hasPrefix("="), sign == "=" || sign == "!=" {
      let rest = value.drop { $0 == "=" }
      throw JournalError(
        .wrongUse,
        "a condition has one =: \(field)\(sign)\(rest) instead of \"\(text)\"; a text that begins with = is written "
          + "in JSON, \(field)\(sign)\"\(value)\"")
    }
    if let next = value.first, "=<>".contains(next) {
      throw JournalError(
        .wrongUse,
        "there is no operator \(sign)\(next); write != for another value, <= or >= for a range; a text that begins "
          + "with \(next) is written in JSON, \(field)\(sign)\"\(value)\"")
    }
    // A path in an attribute may begin with any name; a field must be one of the catalog's.
    if field.hasPrefix("@"), !field.hasPrefix("@@") { _ = try NamedParts([field]) }
    if field == "@category", Int(value) == nil, value != "null" {
      throw JournalError(
        .wrongUse,
        "@category is the number of a category, not \"\(value)\"; with its name, choose the items by category instead of "
          + "by a condition")
    }
    // A copy, because observers of properties are not called for those of `self`.
    _ = try Timestamp(shown: String(value), in: timeZone)
    var condition = Self(field, is: String(value))
    condition.timeZone = timeZone
    condition.isNegated = sign == "!="
    switch sign {
    case "=", "!=": break
    case ">=": condition.ranges = condition.meanings.map { .from($0.first) }
    case "<=": condition.ranges = condition.meanings.map { .through($0.last) }
    case ">": condition.ranges = condition.meanings.map { .above($0.last) }
    case "<": condition.ranges = condition.meanings.map { .below($0.first) }
    default: condition.ranges = [.prefix(condition.value)]
    }
    self = condition
  }

  /// What the text of the value may mean in a comparison: the first and the last of the values that are equal to it.
  private var meanings: [(first: FieldValue, last: FieldValue)] {
    let value = (try? FieldValue(json: value, decodingWrappers: true)) ?? .string(value)
    guard let date = timestamp?.date else { return [(value, value)] }
    // Dates are equal if they are the same when they are rounded to microseconds.
    let (first, last) = (date.addingTimeInterval(-0.000_000_5), date.addingTimeInterval(0.000_000_5))
    return [(value, value), (.date(first), .date(last))]
  }

  /// The ranges of an index in which all matching values are, and maybe others; nil if no index helps.
  var indexRanges: [ValueRange]? {
    // Without an index, a name with dots may also be that of an attribute.
    guard let path, path.names.count == 1, !isNegated else { return nil }
    if let ranges { return ranges }
    // The value is a plain text, or a value in JSON.
    var found = [ValueRange.equal(to: .string(value))]
    if let timestamp { found.append(timestamp.dates) }
    if let value = try? FieldValue(json: value, decodingWrappers: true) {
      guard value.array == nil, value.dictionary == nil, value != .null else { return nil }
      found.append(.equal(to: value))
    }
    return found
  }

  func holds(of record: EntityRecord, _ kind: EntityKind) -> Bool {
    let matches: Bool
    // A name with dots may also be that of an attribute.
    if let ranges, let path, path.names.count == 1 {
      matches = ranges.contains { $0.contains(record, at: path) }
    } else {
      let found = part(of: record, kind)
      matches = if let ranges { ranges.contains { $0.contains(ValueKey(found)) } } else { equals(found) }
    }
    return matches != isNegated
  }

  /// The path of a field, nil if the field is the catalog's own, or may be a position in a list.
  private static func path(of field: String) -> AttributePath? {
    let steps = field.split(separator: ".").map(String.init)
    guard !field.hasPrefix("@"), !steps.isEmpty, !steps.dropFirst().contains(where: { Int($0) != nil }) else {
      return nil
    }
    return AttributePath(steps)
  }

  private static func isNull(_ value: String) -> Bool { (try? FieldValue(json: value))?.isNull == true }

  private func equals(_ found: FieldValue?) -> Bool {
    // As in an index, null and missing are the same.
    guard let found else { return isNull }
    // The text "null" is a value; it is written in JSON.
    if isNull { return found.isNull }
    // Values compare as in an index, so that a search finds the same with and without one.
    if case .string(let text) = found, text.utf8.elementsEqual(value.utf8) { return true }
    if case .date(let date) = found, let wanted = timestamp { return Timestamp(date) == wanted }
    guard let wanted = try? FieldValue(json: value, decodingWrappers: true) else { return false }
    switch wanted {
    case .array, .dictionary: return found == wanted || found.isIdentical(to: wanted)
    default: return ValueKey(found) == ValueKey(wanted)
    }
  }

  private func part(of record: EntityRecord, _ kind: EntityKind) -> FieldValue? {
    if let key = Catalog.key(named: field, of: kind), let value = record.value(of: key) {
      return Catalog.shown(value, key, of: kind)
    }
    var steps = field.split(separator: ".").map(String.init)[...]
    guard let first = steps.popFirst(), var value = record[first] else { return nil }
    for step in steps {
      switch value {
      case .dictionary(let members):
        guard let member = members[step] else { return nil }
        value = member
      case .array(let elements):
        guard let index = Int(step), elements.indices.contains(index) else { return nil }
        value = elements[index]
      default: return nil
      }
    }
    return value
  }
}

extension Timestamp {
  /// Reads a date as the command line prints it, or a shorter one as selectors have it. A date without a zone is in
  /// this one, and a day or a month is its first moment.
  init?(shown text: String, in timeZone: TimeZone) throws(JournalError) {
    try self.init(calendarDate: text.trimmingCharacters(in: .whitespaces), in: timeZone)
  }

  /// The range that has all dates with this timestamp.
  var dates: ValueRange {
    .from(.date(date.addingTimeInterval(-0.000_001)), through: .date(date.addingTimeInterval(0.000_001)))
  }
}

/// An entity that a query found.
public struct FoundEntity: Sendable {
  /// Its kind and number.
  public let entity: EntityKey
  /// Its record. If it was deleted, this is the last record.
  public let record: EntityRecord
  /// The revision that deleted it, or nil if it exists.
  public let deleted: Revision?

  /// A short name for people.
  public var label: String? { Catalog.label(of: record, of: entity.kind) }
  /// The kind of the item, or `category`, `image` or `tag`.
  public var kind: String { Catalog.kindName(of: record, entity.kind) }
}

extension Journal where State == Catalog {
  /// Calls `body` with each matching entity, in the order of kinds and numbers, until it returns false.
  /// - Parameters:
  ///   - selector: the point in time to search.
  ///   - deleted: whether to search, by their last records, only the entities that were deleted by then. Those whose
  ///     last record was pruned or erased are not found.
  /// - Throws: ``JournalError`` with code `notFound` if the selector names no point in time, and what `body` throws.
  /// - Complexity: O(h) reads of the log for the h events of the entity, if the query names one. Otherwise O(n) for n
  ///   entities of the kind, the categories or the catalog.
  public func find(
    _ query: EntityQuery, asOf selector: RevisionSelector = .head(), deleted: Bool = false,
    _ body: (FoundEntity) throws -> Bool
  ) throws {
    let point = try revision(at: selector)
    if let named = query.namedEntity {
      let row = try entity(named, asOf: .revision(point))
      if let row, !deleted, query.matches(named, row.record) {
        _ = try body(FoundEntity(entity: named, record: row.record, deleted: nil))
      } else if row == nil, deleted, let found = try deletedEntity(named, upTo: point) {
        if query.matches(named, found.record) { _ = try body(found) }
      }
      return
    }
    let catalog = try state(asOf: .revision(point))
    if deleted {
      // The last records of entities that were deleted up to the base were pruned.
      for (entity, revision) in catalog.deletedEntities where revision > base?.revision ?? 0 {
        guard let record = try self.entity(entity, asOf: .revision(revision - 1))?.record,
          query.matches(entity, record)
        else { continue }
        guard try body(FoundEntity(entity: entity, record: record, deleted: revision)) else { return }
      }
      return
    }
    for (entity, record) in catalog.candidates(query) where query.matches(entity, record) {
      guard try body(FoundEntity(entity: entity, record: record, deleted: nil)) else { return }
    }
  }

  private func deletedEntity(_ entity: EntityKey, upTo point: Revision) throws -> FoundEntity? {
    guard let last = try history(of: entity, asOf: .revision(point), limit: 1).first,
      let record = last.before
    else { return nil }
    return FoundEntity(entity: entity, record: record, deleted: last.revision)
  }

  /// The entities that a restore of a category covers: the category, and the items that are or were in it.
  public func entities(ofCategory id: CategoryID, asOf selector: RevisionSelector) throws -> [EntityKey] {
    let items = try [state, state(asOf: selector)].flatMap { $0.items(in: id).map(\.id) }
    return [id.entity] + Set(items).sorted().map(\.entity)
  }

  /// The items that have or had a kind, now or at a point in time.
  public func entities(ofKind kind: String, asOf selector: RevisionSelector) throws -> [EntityKey] {
    let items = try [state, state(asOf: selector)].flatMap { $0.items(ofKind: kind).map(\.id) }
    return Set(items).sorted().map(\.entity)
  }
}

extension Catalog {
  /// The kind of an item with that record. For other entities, it is `category`, `image` or `tag`.
  static func kindName(of record: EntityRecord, _ kind: EntityKind) -> String {
    if kind == .item, let fields = try? ItemFields(record) { return record.text(at: fields.kind) }
    return Int(kind.rawValue) < kindNames.count ? kindNames[Int(kind.rawValue)] : ""
  }

  /// The entities that would exist if their content had not been erased, in the order of kinds and numbers, without
  /// tags, which no restore touches.
  package var erasedEntities: [EntityKey] {
    zip(0..., tables).flatMap { kind, table in
      table.erasedNumbers.map { EntityKey(kind: EntityKind(rawValue: kind), number: $0) }
    }.filter { Self.isRestored($0.kind) }
  }

  /// The deleted entities, with the revision that deleted each.
  fileprivate var deletedEntities: some Sequence<(EntityKey, Revision)> {
    zip(0..., tables).lazy.flatMap { kind, table in
      table.goneEntities.lazy.map {
        (EntityKey(kind: EntityKind(rawValue: kind), number: $0.number), $0.revision)
      }
    }
  }

  /// The entities that may match, in the order of kinds and numbers.
  fileprivate func candidates(_ query: EntityQuery) -> AnySequence<(EntityKey, EntityRecord)> {
    if let categories = query.categories {
      return AnySequence(
        categories.sorted().flatMap { items(in: $0).map(\.id) }.sorted().lazy.compactMap { id in
          item(id).map { (id.entity, $0.record) }
        })
    }
    if let kind = query.kind, !Self.kindNames.contains(kind) {
      return AnySequence(items(ofKind: kind).lazy.map { ($0.id.entity, $0.record) })
    }
    return AnySequence(
      zip(0..., tables).lazy.flatMap { kind, table in
        table.lazy.map { (EntityKey(kind: EntityKind(rawValue: kind), number: $0.number), $0.row.record) }
      })
  }
}

extension FieldValue {
  /// Whether that is part of a text in the value. Keys are not searched. A record's values are nested at most 127 deep.
  func hasText(_ text: String) -> Bool {
    switch self {
    case .string(let value): value.containsIgnoringCase(text)
    case .array(let elements): elements.contains { $0.hasText(text) }
    case .dictionary(let members): members.values.contains { $0.hasText(text) }
    default: false
    }
  }
}

extension String {
  fileprivate func containsIgnoringCase(_ text: String) -> Bool {
    // Most texts are ASCII. For these, comparing bytes gives the same answer in a fraction of the time.
    let (bytes, wanted) = (utf8.map(\.lowercasedASCII), text.utf8.map(\.lowercasedASCII))
    guard let first = wanted.first, !bytes.contains(where: { $0 >= 0x80 }),
      !wanted.contains(where: { $0 >= 0x80 })
    else { return range(of: text, options: .caseInsensitive) != nil }
    guard bytes.count >= wanted.count else { return false }
    return (0...bytes.count - wanted.count).contains { start in
      bytes[start] == first && bytes[start..<start + wanted.count].elementsEqual(wanted)
    }
  }
}

extension UInt8 {
  fileprivate var lowercasedASCII: UInt8 {
    (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(self) ? self | 0x20 : self
  }
}
