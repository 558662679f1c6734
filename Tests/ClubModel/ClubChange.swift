package import CatalogModel
package import TestSupport

/// A change of one item, which each way into a journal can express.
package enum ClubChange: Sendable {
  case add(kind: String, [String: FieldValue])
  case update(Int, set: [String: FieldValue], remove: [String])
  case setKind(Int, String)
  case delete(Int)

  package func make(in draft: inout Draft<Catalog>) throws {
    switch self {
    case .add(let kind, let attributes): try draft.addItem(kind: kind, attributes: attributes)
    case .update(let number, let set, let remove):
      try draft.updateItem(EntityID(number), set: set, remove: remove)
    case .setKind(let number, let kind): try draft.setKind(ofItem: EntityID(number), to: kind)
    case .delete(let number): try draft.deleteItem(EntityID(number))
    }
  }
}

extension Club {
  /// Random changes for one commit. Some break a rule, mostly because of others.
  /// - Returns: the changes, and the club after them; nil if they must be refused.
  package func randomChanges(_ random: inout SeededGenerator) -> (changes: [ClubChange], after: Club?) {
    var club = self
    var changes: [ClubChange] = []
    for _ in 0...Int.random(in: 0...3, using: &random) {
      let change = club.randomChange(&random)
      changes.append(change)
      do { try club.make(change) } catch { return (changes, nil) }
    }
    return (changes, club.broken().isEmpty ? club : nil)
  }

  private func randomChange(_ random: inout SeededGenerator) -> ClubChange {
    let (teams, members) = (numbers(of: "team"), numbers(of: "member"))
    switch Int.random(in: 0..<16, using: &random) {
    case 0, 1: return .add(kind: "team", team(&random).compactMapValues { $0 })
    case 2, 3, 4: return .add(kind: "member", randomMember(&random).compactMapValues { $0 })
    case 5: if let team = teams.randomElement(using: &random) { return .delete(team) }
    case 6, 7: if let member = members.randomElement(using: &random) { return .delete(member) }
    case 8 where random.chance(1, in: 4):
      if let number = (teams + members).randomElement(using: &random) {
        return .setKind(number, ["team", "member", "guest"].randomElement(using: &random)!)
      }
    // Mostly an item that was deleted, or was never there.
    case 9 where random.chance(1, in: 4): return .delete(Int.random(in: 1...highest + 1, using: &random))
    default: break
    }
    guard let number = (teams + members).randomElement(using: &random) else {
      return .add(kind: "team", team(&random).compactMapValues { $0 })
    }
    let parts = items[number]?.kind == "team" ? team(&random) : randomMember(&random)
    let (name, value) = parts.sorted { $0.key < $1.key }.randomElement(using: &random)!
    return .update(number, set: value.map { [name: $0] } ?? [:], remove: value == nil ? [name] : [])
  }

  /// The attributes of a random team. One that is nil is missing.
  private func team(_ random: inout SeededGenerator) -> [String: FieldValue?] {
    let letter = random.chance(1, in: 2) ? "t" : "T"
    return [
      "name": random.chance(1, in: 20) ? nil : .string("\(letter)\(Int.random(in: 0..<9, using: &random))"),
      "parent": random.chance(2, in: 3) ? nil : reference(to: "team", &random),
      "captain": random.chance(1, in: 2) ? nil : reference(to: "member", &random),
    ]
  }

  /// The attributes of a random member. One that is nil is missing.
  package func randomMember(_ random: inout SeededGenerator) -> [String: FieldValue?] {
    func several(_ random: inout SeededGenerator) -> FieldValue {
      .array((0..<Int.random(in: 0..<3, using: &random)).map { _ in reference(to: "member", &random) })
    }
    let shirt = Int64.random(in: 0..<6, using: &random)
    return [
      "team": random.chance(1, in: 4) ? nil : reference(to: "team", &random), "friends": several(&random),
      "mentor": random.chance(1, in: 2) ? nil : reference(to: "member", &random),
      "rivals": random.chance(1, in: 2) ? nil : several(&random),
      "shirt": random.chance(1, in: 3)
        ? nil
        : random.chance(1, in: 8)
          ? .null : random.chance(1, in: 8) ? .double(Double(shirt)) : .integer(shirt),
    ]
  }

  /// A reference, mostly to an existing item of the kind.
  private func reference(to kind: String, _ random: inout SeededGenerator) -> FieldValue {
    let found = random.chance(1, in: 30) ? nil : numbers(of: kind).randomElement(using: &random)
    return .integer(Int64(found ?? Int.random(in: 1...highest + 2, using: &random)))
  }
}
