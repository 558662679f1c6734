package import CatalogModel

package struct Team: CatalogItem {
  package static let kind = "team"
  package static let rules: [Rule] = [
    .unique(\.name, ignoringCase: true), .required(\.name), .reference(\.parent, onDelete: .cascade),
    .reference(\.captain, onDelete: .nullify),
  ]
  var name: String
  var parent: ItemID<Team>?
  var captain: ItemID<Member>?
}

package struct Member: CatalogItem {
  package static let kind = "member"
  package static let rules: [Rule] = [
    .reference(\.team, onDelete: .cascade), .reference(\.friends, onDelete: .nullify),
    .reference(\.mentor, onDelete: .deny), .reference(\.rivals, onDelete: .keep), .unique(\.team, \.shirt),
  ]
  var team: ItemID<Team>?
  var friends: [ItemID<Member>]
  var mentor: ItemID<Member>?
  var rivals: [ItemID<Member>]
  var shirt: Int?
}

/// The items of a club and their rules, in the most naive form: attributes by number, and loops over all items.
package struct Club {
  package struct Item: Equatable {
    package var kind: String
    package var attributes: [String: FieldValue]
  }

  package struct Refusal: Error {}

  package private(set) var items: [Int: Item] = [:]
  package private(set) var highest: Int

  package init(_ catalog: Catalog) {
    for item in catalog.items {
      items[item.id.number] = Item(kind: item.kind, attributes: item.attributes)
    }
    highest = catalog.itemTable.highest
  }

  /// The numbers of the items of a kind, in ascending order.
  package func numbers(of kind: String) -> [Int] { items.keys.filter { items[$0]?.kind == kind }.sorted() }

  private struct Reference {
    let name: String
    let target: Int
    let kind: String
    let onDelete: Catalog.Rule.DeleteAction
  }

  private static func references(of item: Item) -> [Reference] {
    let rules: [(String, String, Catalog.Rule.DeleteAction)] =
      item.kind == "team"
      ? [("parent", "team", .cascade), ("captain", "member", .nullify)]
      : item.kind == "member"
        ? [
          ("team", "team", .cascade), ("friends", "member", .nullify), ("mentor", "member", .deny),
          ("rivals", "member", .keep),
        ] : []
    return rules.flatMap { name, kind, onDelete in
      numbers(in: item.attributes[name]).map {
        Reference(name: name, target: $0, kind: kind, onDelete: onDelete)
      }
    }
  }

  private static func numbers(in value: FieldValue?) -> [Int] {
    switch value {
    case .integer(let number): [Int(number)]
    case .array(let values): values.flatMap { numbers(in: $0) }
    default: []
    }
  }

  /// The values that no other item may have.
  private static func key(of item: Item) -> String? {
    switch item.kind {
    case "team": item.attributes["name"]?.string?.lowercased()
    case "member":
      if let team = numbers(in: item.attributes["team"]).first,
        let shirt = item.attributes["shirt"]?.number
      {
        "\(team) \(shirt)"
      } else {
        nil
      }
    default: nil
    }
  }

  /// The rules that are broken, found by comparing all items with all others.
  package func broken() -> [String] {
    var found: [String] = []
    var keys: Set<String> = []
    for (number, item) in items {
      for reference in Self.references(of: item)
      where reference.onDelete != .keep && items[reference.target]?.kind != reference.kind {
        found.append("\(reference.name) of \(number) is \(reference.target)")
      }
      if let key = Self.key(of: item), !keys.insert("\(item.kind) \(key)").inserted {
        found.append("\(number) has the key \(key) of another")
      }
      if item.kind == "team", item.attributes["name"].map({ $0 == .null }) ?? true {
        found.append("\(number) has no name")
      }
    }
    return found.sorted()
  }

  /// Makes a change as a draft does.
  package mutating func make(_ change: ClubChange) throws(Refusal) {
    switch change {
    case .add(let kind, let attributes):
      highest += 1
      items[highest] = Item(kind: kind, attributes: attributes)
    case .update(let number, let set, let remove):
      guard items[number] != nil else { throw Refusal() }
      for name in remove { items[number]?.attributes[name] = nil }
      items[number]?.attributes.merge(set) { $1 }
    case .setKind(let number, let kind):
      guard items[number] != nil else { throw Refusal() }
      items[number]?.kind = kind
    case .delete(let number): try delete(number)
    }
  }

  private mutating func delete(_ number: Int) throws(Refusal) {
    guard items[number] != nil else { throw Refusal() }
    func refers(_ item: Item, to numbers: Set<Int>, _ onDelete: Catalog.Rule.DeleteAction) -> Bool {
      Self.references(of: item).contains { $0.onDelete == onDelete && numbers.contains($0.target) }
    }
    var going: Set<Int> = []
    var next: Set<Int> = [number]
    while !next.isSubset(of: going) {
      going.formUnion(next)
      next = Set(items.filter { refers($0.value, to: going, .cascade) }.keys)
    }
    for number in going { items[number] = nil }
    if items.values.contains(where: { refers($0, to: going, .deny) }) { throw Refusal() }
    for (number, item) in items {
      for reference in Self.references(of: item)
      where reference.onDelete == .nullify && going.contains(reference.target) {
        if case .array(let values)? = items[number]?.attributes[reference.name] {
          items[number]?.attributes[reference.name] = .array(
            values.filter { $0 != .integer(Int64(reference.target)) })
        } else {
          items[number]?.attributes[reference.name] = nil
        }
      }
    }
  }
}

extension FieldValue {
  fileprivate var number: Double? {
    switch self {
    case .integer(let number): Double(number)
    case .double(let number): number
    default: nil
    }
  }
}
