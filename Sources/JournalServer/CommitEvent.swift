import CatalogModel

/// An event of a commit, in the form that `log --json` prints.
///
/// An added entity has no number yet, so the member `entity` is only its kind, or omitted for an item. With `as`, the
/// entity gets a name by which later events of the same commit can refer to it.
struct CommitEvent: Sendable {
  /// The entities that a commit has added so far, by the names that `as` gave them.
  typealias Names = [String: EntityKey]

  private enum Target {
    case new(EntityKind)
    case known(EntityKey)
    /// The entity that `as` of an earlier event names.
    case named(String)
  }

  /// What an event says of its entity, whose kind decides what it can say.
  private struct Changes {
    let members: Members
    /// The attributes that an update removes.
    let removed: [String]
  }

  private let target: Target
  /// The kind of the entity that the event adds; nil if it adds none.
  let addedKind: EntityKind?
  private let operation: String
  private let given: FieldValue
  /// Nil if the kind of the entity is not known before the event is applied.
  private let changes: Changes?
  /// The name that `as` gives to an added entity; nil without `as`.
  let name: String?
  /// The revision that must have changed the entity last; nil if any revision is allowed.
  private let previous: Revision?

  init(_ value: FieldValue) throws {
    let event = try Members(
      value, of: "an event", allowing: ["operation", "entity", "as", "previous", "changes"])
    operation = try event.required("operation")
    guard ["add", "update", "delete"].contains(operation) else {
      throw APIError.wrongUse("operation is add, update or delete, not \"\(operation)\"")
    }
    let name = try event.string("entity")
    if operation == "add" {
      guard let index = Catalog.kindNames.firstIndex(of: name ?? "item") else {
        throw APIError.wrongUse(
          "the entity of an add is \(Catalog.kindNames.joined(separator: ", ")), without a number")
      }
      let kind = EntityKind(rawValue: UInt8(index))
      (target, addedKind) = (.new(kind), kind)
    } else {
      addedKind = nil
      let name = try event.required("entity")
      // A name that `as` gives may have a colon too, such as `isbn:9780441172719`.
      if let colon = name.firstIndex(of: ":"), Catalog.kindNames.contains(String(name[..<colon])) {
        target = .known(try Catalog.entity(named: name))
      } else {
        target = .named(name)
      }
    }
    self.name = try event.string("as")
    if self.name != nil, operation != "add" {
      throw APIError.wrongUse("as gives a name to an added entity, but operation is not add")
    }
    previous = try event.integer("previous")
    if let previous, operation == "add", previous != 0 {
      throw APIError.wrongUse("an added entity has no previous revision, so previous is 0 or left out")
    }
    if previous != nil, case .named(let name) = target {
      throw APIError.wrongUse("previous is for an entity with a number, not for \"\(name)\"")
    }
    given = event.value("changes") ?? .dictionary([:])
    switch target {
    case .new(let kind): changes = try Self.changes(given, of: kind, operation)
    case .known(let entity): changes = try Self.changes(given, of: entity.kind, operation)
    case .named: changes = nil
    }
  }

  private static func changes(
    _ given: FieldValue, of kind: EntityKind, _ operation: String
  ) throws -> Changes {
    if operation == "delete", given.dictionary?.isEmpty == false {
      throw APIError.wrongUse("a delete has no changes")
    }
    if operation == "update", kind == .tag || kind == .rule {
      throw APIError.wrongUse(
        "a \(Catalog.kindName(of: kind)) can't be changed; delete it and add another")
    }
    let names = names(kind, isAdd: operation == "add")
    let changes = try Members(given, of: "changes", allowing: names)
    if let name = names.first(where: { changes.value($0)?.isNull == true && !removable.contains($0) }) {
      throw APIError.wrongUse("\(name) of changes is null, but it can't be removed")
    }
    let set = try changes.object("attributes")
    let removed = try changes.array("removed").map { value throws(APIError) in
      try Members.string(value, "removed")
    }
    // Bytes are compared, because names that differ only in their bytes are different attributes.
    if let name = removed.first(where: { name in
      set.index(forKey: name).map { set[$0].key.utf8.elementsEqual(name.utf8) } ?? false
    }) {
      throw APIError.wrongUse("the attribute \"\(name)\" is both in attributes and in removed")
    }
    return Changes(members: changes, removed: removed)
  }

  /// The entity and the `previous` of an update or a delete; nil without `previous`, and for an add.
  var expectation: (entity: EntityKey, revision: Revision)? {
    guard case .known(let entity) = target, let previous else { return nil }
    return (entity, previous)
  }

  /// The name of the entity that the event deletes; nil if it deletes none, or one with a number.
  var deletedName: String? {
    guard operation == "delete", case .named(let name) = target else { return nil }
    return name
  }

  /// The members that `changes` can have in an add or an update of an entity of the kind.
  private static func names(_ kind: EntityKind, isAdd: Bool) -> [String] {
    let fields = Catalog.fieldNames(of: kind)
    return switch kind {
    case .item: fields + (isAdd ? ["attributes"] : ["attributes", "removed"])
    case .rule: fields + ["attributes"]
    case .image where !isAdd: fields.filter { $0 != "item" }
    default: fields
    }
  }
  /// The members of `changes` that may be null, which removes the value.
  private static let removable = ["category", "color"]

  func apply(to draft: inout Draft<Catalog>, _ names: inout Names) throws {
    let entity: EntityKey
    switch target {
    case .new(let kind):
      let added = try add(kind, to: &draft, names)
      guard let name else { return }
      guard names.updateValue(added, forKey: name) == nil else {
        throw APIError.wrongUse("two events are named \"\(name)\"")
      }
      return
    case .known(let known): entity = known
    case .named(let name):
      guard let named = names[name] else {
        throw APIError.wrongUse(
          "no earlier event adds an entity as \"\(name)\"; the entity is an earlier event's \"as\", or has a number, "
            + "such as item:42")
      }
      entity = named
    }
    let changes = try changes ?? Self.changes(given, of: entity.kind, operation)
    guard operation == "delete" else { return try update(entity, changes, in: &draft, names) }
    switch entity.kind {
    case .item: try draft.deleteItem(EntityID(entity.number))
    case .category: try draft.deleteCategory(EntityID(entity.number))
    case .image: try draft.deleteImage(EntityID(entity.number))
    case .tag: try draft.delete(entity)
    case .rule: try draft.deleteRule(EntityID(entity.number))
    default: throw APIError.wrongUse("\(Catalog.name(of: entity)) can't be deleted")
    }
  }

  private func add(_ kind: EntityKind, to draft: inout Draft<Catalog>, _ names: Names) throws -> EntityKey {
    let changes = try (changes ?? Self.changes(given, of: kind, operation)).members
    switch kind {
    case .item:
      return try draft.addItem(
        kind: try changes.required("kind"), category: try category(changes, names),
        attributes: try changes.object("attributes")
      ).entity
    case .category:
      return try draft.addCategory(name: try changes.required("name"), color: try color(changes)).entity
    case .image:
      guard let item = try number("item", .item, changes, names), let blob = try blob(changes) else {
        throw APIError.wrongUse("an image needs item, name, mediaType, sha256 and byteCount")
      }
      return try draft.addImage(
        to: EntityID(item), name: try changes.required("name"), mediaType: try changes.required("mediaType"),
        blob: blob
      ).entity
    case .tag:
      guard let revision = try changes.integer("revision") else {
        throw APIError.wrongUse("a tag needs name and revision")
      }
      return try draft.addTag(try changes.required("name"), at: revision).entity
    case .rule:
      return try draft.addRule(
        form: try changes.required("form"), kind: try changes.required("kind"),
        attributes: try changes.object("attributes")
      ).entity
    default: throw APIError.wrongUse("\(Catalog.kindName(of: kind)) can't be added")
    }
  }

  private func update(
    _ entity: EntityKey, _ given: Changes, in draft: inout Draft<Catalog>, _ names: Names
  ) throws {
    let changes = given.members
    switch entity.kind {
    case .item:
      let id = Catalog.Item.ID(entity.number)
      if let kind = try changes.string("kind") { try draft.setKind(ofItem: id, to: kind) }
      if changes.has("category") { try draft.setCategory(ofItem: id, to: try category(changes, names)) }
      if changes.has("attributes") || changes.has("removed") {
        try draft.updateItem(id, set: try changes.object("attributes"), remove: given.removed)
      }
    case .category:
      let id = CategoryID(entity.number)
      if let name = try changes.string("name") { try draft.setName(ofCategory: id, to: name) }
      if changes.has("color") { try draft.setColor(ofCategory: id, to: try color(changes)) }
    case .image:
      try draft.updateImage(
        ImageID(entity.number), name: try changes.string("name"), mediaType: try changes.string("mediaType"),
        blob: try blob(changes))
    // `init` refuses to update tags and rules.
    default: break
    }
  }

  private func category(_ changes: Members, _ names: Names) throws(APIError) -> CategoryID? {
    try number("category", .category, changes, names).map { CategoryID($0) }
  }

  /// The number of the entity that a member of `changes` names, by number or by the `as` of an earlier event.
  private func number(
    _ field: String, _ kind: EntityKind, _ changes: Members, _ names: Names
  ) throws(APIError) -> Int? {
    guard let name = changes.value(field)?.string else { return try changes.integer(field) }
    guard let added = names[name], added.kind == kind else {
      let kind = Catalog.kindName(of: kind)
      throw .wrongUse(
        "no earlier event adds \(kind) as \"\(name)\"; the \(field) is an earlier event's \"as\", or the number of "
          + "one that exists, such as \"\(field)\":1")
    }
    return added.number
  }

  private func color(_ changes: Members) throws(APIError) -> Catalog.Color? {
    guard let hex = try changes.string("color") else { return nil }
    guard let color = Catalog.Color(hex: hex) else {
      throw .wrongUse("color is #RGB, #RRGGBB or #RRGGBBAA, not \"\(hex)\"")
    }
    return color
  }

  private func blob(_ changes: Members) throws(APIError) -> Blob? {
    guard changes.has("sha256") || changes.has("byteCount") else { return nil }
    guard let hex = try changes.string("sha256"), let digest = ContentDigest(hex: hex),
      let byteCount = try changes.integer("byteCount"),
      byteCount >= 0
    else {
      throw .wrongUse("sha256 has 64 hexadecimal digits, and byteCount says how many bytes there are")
    }
    return Blob(digest: digest, byteCount: byteCount)
  }
}

/// The expectations of a request, from the events' `previous` and the `If-Match` header: a list of
/// `"item:42@17"` for an entity, or `"journal@120"` for the newest entry.
struct Expectations {
  private(set) var all: [Expectation] = []
  /// For each entity, the oldest revision among the expectations.
  private(set) var entities: [EntityKey: Revision] = [:]

  init(_ header: String?) throws {
    guard let header else { return }
    for part in header.split(separator: ",") {
      guard let match = part.wholeMatch(of: /\s*"([a-z]+(?::[0-9]+)?)@([0-9]+)"\s*/),
        let revision = Int(match.2)
      else {
        throw APIError.wrongUse("If-Match is a list of ETags such as \"item:42@17\"")
      }
      if match.1 == "journal" {
        all.append(.journal(at: revision))
      } else {
        expect(try Catalog.entity(named: String(match.1)), at: revision)
      }
    }
  }

  mutating func expect(_ entity: EntityKey, at revision: Revision) {
    all.append(.entity(entity, at: revision))
    entities[entity] = min(revision, entities[entity] ?? revision)
  }
}
