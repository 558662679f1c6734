import CatalogModel
import Foundation

/// Gives an item the same attributes in whatever order a file has the members of sets and dictionaries.
///
/// Members of sets, and pairs of dictionaries whose keys are not texts, are sorted by their contents. Then shared objects
/// are numbered in that order. Pictures in these collections have names that depend on their contents.
struct CanonicalOrder {
  /// The objects with numbers.
  private var objects: [Int: FieldValue] = [:]
  /// What tells the objects apart, without their numbers.
  private var colors: [Int: Data] = [:]
  private var numbers: [Int: Int] = [:]

  /// The attributes in that order.
  static func apply(to attributes: [String: FieldValue]) -> [String: FieldValue] {
    guard attributes.values.contains(where: \.hasUnorderedMembers) else { return attributes }
    var order = CanonicalOrder()
    order.findObjects(.dictionary(attributes))
    return order.rewritten(.dictionary(attributes)).dictionary ?? attributes
  }

  private mutating func findObjects(_ attributes: FieldValue) {
    attributes.forEachValue { if let number = $0[Reference.id]?.integer { objects[number] = $0 } }
    // Objects are told apart by what they refer to, one step further in each round.
    var count = 0
    for _ in 0..<16 where !objects.isEmpty {
      colors = objects.mapValues { object in
        var members = object.dictionary ?? [:]
        members[Reference.id] = nil
        return ["": masked(.dictionary(members))].fingerprint
      }
      let distinct = Set(colors.values).count
      if distinct <= count { break }
      count = distinct
    }
  }

  /// The value without anything that depends on the order in the file.
  private func masked(_ value: FieldValue) -> FieldValue {
    if let number = value.target(Reference.ref) ?? value[Reference.id]?.integer {
      return [Reference.ref: .data(colors[number] ?? Data())]
    }
    for key in [Reference.item, Reference.category] where value.target(key) != nil {
      return Reference.make(key, 0)
    }
    switch value {
    case .array(let elements): return .array(elements.map(masked))
    case .dictionary(let members): return FieldValue.dictionary(members.mapValues(masked)).sortingMembers()
    default: return value
    }
  }

  private mutating func rewritten(_ value: FieldValue) -> FieldValue {
    var value = value
    if let number = value.target(Reference.ref) ?? value[Reference.id]?.integer {
      if let known = numbers[number] { return Reference.make(Reference.ref, known) }
      guard var members = objects[number]?.dictionary else { return value }
      let new = numbers.count + 1
      numbers[number] = new
      members[Reference.id] = .integer(Int64(new))
      value = .dictionary(members)
    }
    if let elements = value.array { return .array(elements.map { rewritten($0) }) }
    guard var members = value.dictionary else { return value }
    if let groups = value.unorderedMembers {
      let sorted = groups.sorted { .array($0.map(masked)) }
      return value.withUnorderedMembers(sorted.map { $0.map { rewritten($0) } })
    }
    for (key, member) in members.sorted(by: { $0.key < $1.key })
    where key != Reference.id && key != Reference.objectClass {
      members[key] = rewritten(member)
    }
    return .dictionary(members)
  }
}

extension [[FieldValue]] {
  /// The groups in the order of what `content` returns: first without classes, whose names may change, then with them.
  fileprivate func sorted(by content: ([FieldValue]) -> FieldValue) -> [[FieldValue]] {
    func bytes(_ value: FieldValue) -> [UInt8] { EntityRecord(["": value]).bytes }
    // In one expression with the line that sorts, this closure takes the compiler six seconds.
    let keyed = enumerated().map { index, group in
      let content = content(group)
      return (key: bytes(content.withoutClasses) + bytes(content), index: index, group: group)
    }
    return keyed.sorted { $0.key == $1.key ? $0.index < $1.index : $0.key.lexicographicallyPrecedes($1.key) }
      .map(\.group)
  }
}

extension FieldValue {
  /// The members of a set, or the pairs of a dictionary or a counted set, in the explicit form. Nil for other values.
  fileprivate var unorderedMembers: [[FieldValue]]? {
    switch objectClass {
    case "NSSet"?, "NSMutableSet"?: return self["NS.objects"]?.array?.map { [$0] }
    case "NSDictionary"?, "NSMutableDictionary"?:
      guard let keys = self["NS.keys"]?.array, let values = self["NS.objects"]?.array,
        keys.count == values.count
      else { return nil }
      return zip(keys, values).map { [$0, $1] }
    case "NSCountedSet"?:
      guard let count = self["NS.count"]?.integer, count >= 0, count <= dictionary?.count ?? 0 else {
        return nil
      }
      let pairs = (0..<count).compactMap { index -> [FieldValue]? in
        guard let object = self["NS.object\(index)"], let count = self["NS.count\(index)"] else { return nil }
        return [object, count]
      }
      return pairs.count == count ? pairs : nil
    default: return nil
    }
  }

  /// The value with other members in place of ``unorderedMembers``.
  fileprivate func withUnorderedMembers(_ groups: [[FieldValue]]) -> FieldValue {
    guard var members = dictionary else { return self }
    switch objectClass {
    case "NSSet"?, "NSMutableSet"?: members["NS.objects"] = .array(groups.compactMap(\.first))
    case "NSCountedSet"?:
      for (index, group) in groups.enumerated() {
        (members["NS.object\(index)"], members["NS.count\(index)"]) = (group[0], group[1])
      }
    default:
      members["NS.keys"] = .array(groups.map { $0[0] })
      members["NS.objects"] = .array(groups.map { $0[1] })
    }
    return .dictionary(members)
  }

  fileprivate var hasUnorderedMembers: Bool { contains { $0.unorderedMembers != nil } }

  fileprivate func sortingMembers() -> FieldValue {
    unorderedMembers.map { withUnorderedMembers($0.sorted { .array($0) }) } ?? self
  }

  /// The value with the members of sets sorted again, after references in them got other numbers or names.
  var sortingSets: FieldValue { hasUnorderedMembers ? mapped { $0.sortingMembers() } : self }
}
