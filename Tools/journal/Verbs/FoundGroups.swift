import CBOR
import CatalogModel
import EntitySearch
import JSON

/// Counts found entities, and adds up numbers, in the groups of a field's values or in one.
final class FoundGroups: FindOutput {
  private struct Group {
    let value: FieldValue?
    let kind: EntityKind
    var count = 0
    var sums: [NumberSum]
  }

  /// Equal numbers are one group, and so are missing and null values. All arrays and dictionaries have one `ValueKey`.
  private struct Key: Hashable {
    let key: ValueKey
    /// Encoded, because NaN in an array is not equal to itself.
    let composite: [UInt8]?

    init(_ value: FieldValue?) {
      key = ValueKey(value)
      composite = key == .composite ? value.map { EntityRecord(["value": $0]).bytes } : nil
    }
  }

  private let values: FoundValues
  private let field: String?
  private let sums: [String]
  private let limit: Int
  private var groups: [Key: Group] = [:]

  /// - Parameter group: the field whose values make the groups; nil for one group.
  init(_ values: FoundValues, group field: String?, sums: [String], limit: Int) {
    self.values = values
    self.field = field
    self.sums = sums
    self.limit = limit
  }

  func add(_ found: FoundEntity) throws -> Bool {
    let value = field.flatMap { values[found, $0] }
    let key = Key(value)
    var group = groups[key] ?? emptyGroup(of: value, found.entity.kind)
    group.count += 1
    for (index, part) in sums.enumerated() { group.sums[index].add(values[found, part]) }
    groups[key] = group
    return true
  }

  private func emptyGroup(of value: FieldValue?, _ kind: EntityKind) -> Group {
    Group(value: value, kind: kind, sums: sums.map { _ in NumberSum() })
  }

  func end() throws {
    if field == nil, groups.isEmpty { groups[Key(nil)] = emptyGroup(of: nil, .item) }
    let terminal = values.terminal
    if field == nil, sums.isEmpty, !terminal.isJSON {
      return try terminal.line("\(groups.values.first?.count ?? 0)")
    }
    let table = TextTable(
      (field.map { [.flexible($0.uppercased().printable)] } ?? []) + [.number("COUNT")]
        + sums.map { .number("SUM OF \($0.uppercased().printable)") }, terminal)
    let sorted = groups.sorted { left, right in
      left.key.key == right.key.key
        ? left.value.value?.json ?? "" < right.value.value?.json ?? "" : left.key.key < right.key.key
    }
    for (_, group) in sorted.prefix(limit) {
      let sums = zip(sums, group.sums.map(\.value))
      try table.add(
        try (field.map { [try text(of: group, $0)] } ?? []) + ["\(group.count)"]
          + sums.map { terminal.text(of: $1) },
        json: [
          "group": ifAny(field == nil ? nil : group.value ?? .null), "count": group.count,
          "sums": ifAny(self.sums.isEmpty ? nil : JSONObject(sums)),
        ])
    }
    try table.end()
  }

  private func text(of group: Group, _ field: String) throws -> String {
    let text = try values.text(of: group.value, field, of: group.kind)
    return text.isEmpty ? "(none)" : text
  }
}

/// The sum of numbers: exact if decimal digits represent it, otherwise rounded once.
private struct NumberSum {
  private var decimals = DecimalSum()
  private var doubles = DoubleSum()
  private var isExact = true

  /// Adds a value; nothing if it is no number.
  mutating func add(_ value: FieldValue?) {
    let key = ValueKey(value)
    guard key.hasType(of: ValueKey(.integer(0))) else { return }
    if !decimals.add(key) { isExact = false }
    if !doubles.add(key), case .string(let text)? = value?["$decimal"], let number = Double(text) {
      _ = doubles.add(ValueKey(.double(number)))
    }
  }

  var value: FieldValue {
    if isExact, let sum = decimals.value { return FieldValue(number: sum) }
    return .double(doubles.value)
  }
}
