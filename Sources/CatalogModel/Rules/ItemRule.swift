package import CBOR
import Locks

/// A rule that a type of items declares for its properties.
///
/// ```swift
/// struct Person: CatalogItem {
///   static let kind = "person"
///   static let rules: [Rule] = [
///     .reference(\.company, onDelete: .deny), .unique(\.email, ignoringCase: true), .required(\.name),
///   ]
///   var name: String
///   var email: String?
///   var company: ItemID<Company>?
/// }
/// try journal.declare(Person.self)
/// ```
public struct ItemRule<Model: CatalogItem>: Sendable {
  let form: Catalog.Rule.Form
  let paths: Result<[AttributePath], JournalError>

  private init(
    _ form: Catalog.Rule.Form, _ properties: [any PartialKeyPath<Model> & Sendable], problem: String? = nil
  ) {
    self.form = form
    paths = Result { () throws(JournalError) in
      if let problem { throw JournalError(.wrongUse, problem) }
      return try properties.map { property throws(JournalError) in try Model.attribute(of: property).get() }
    }
  }

  /// The property refers to an existing item. It can't become nil, so with `.nullify`, `Journal.declare(_:by:)` throws
  /// `wrongUse`.
  public static func reference<Target: CatalogItem>(
    _ property: any KeyPath<Model, ItemID<Target>> & Sendable, onDelete action: Catalog.Rule.DeleteAction
  ) -> ItemRule {
    ItemRule(
      .reference(to: Target.kind, onDelete: action), [property],
      problem: action == .nullify
        ? "\(property) of \(Model.self) is not optional, so it can't lose its reference; make it optional, or use another "
          + "onDelete" : nil)
  }

  /// The property refers to an existing item, or is nil.
  public static func reference<Target: CatalogItem>(
    _ property: any KeyPath<Model, ItemID<Target>?> & Sendable, onDelete action: Catalog.Rule.DeleteAction
  ) -> ItemRule { ItemRule(.reference(to: Target.kind, onDelete: action), [property]) }

  /// Each element of the property refers to an existing item.
  public static func reference<Target: CatalogItem, Elements: QueryArray>(
    _ property: any KeyPath<Model, Elements> & Sendable, onDelete action: Catalog.Rule.DeleteAction
  ) -> ItemRule where Elements.Element == ItemID<Target> {
    ItemRule(.reference(to: Target.kind, onDelete: action), [property])
  }

  /// No two items have the same values of these properties: texts by their bytes or, if asked for, ignoring case; numbers
  /// by value. Items in which one of them is nil are not compared, nor are arrays and dictionaries.
  public static func unique(
    _ properties: (any PartialKeyPath<Model> & Sendable)..., ignoringCase: Bool = false
  ) -> ItemRule { ItemRule(.unique(ignoringCase: ignoringCase), properties) }

  /// Each item has the property, also if another program writes it.
  public static func required(_ property: any PartialKeyPath<Model> & Sendable) -> ItemRule {
    ItemRule(.required, [property])
  }
}

extension CatalogItem {
  /// The type's rules, without numbers.
  /// - Throws: ``JournalError`` with code `wrongUse` if a key path leads to no attribute, or two rules exclude each other.
  static func declaredRules() throws(JournalError) -> [Catalog.Rule] {
    var declared: [Catalog.Rule] = []
    for rule in rules {
      let rule = Catalog.Rule(0, kind: kind, rule.form, try rule.paths.get())
      if let other = declared.first(where: { $0.replaces(rule) }) {
        throw JournalError(
          .wrongUse, "\(Self.self) declares that \(other), and that \(rule); it can have one of them")
      }
      declared.append(rule)
    }
    return declared
  }

  /// Whether a catalog has a rule.
  private static func has(_ rule: Catalog.Rule, in catalog: Catalog) -> Bool {
    catalog.rules(ofKind: kind).contains { $0.form == rule.form && $0.paths == rule.paths }
  }

  static func isDeclared(in catalog: Catalog) throws(JournalError) -> Bool {
    for rule in try declaredRules() where !has(rule, in: catalog) { return false }
    return true
  }

  /// Throws `wrongUse` if an index is on no attribute, or if a catalog lacks one of the type's rules.
  static func checkDeclarations(in catalog: Catalog) throws(JournalError) {
    try checkIndexes()
    if rules.isEmpty { return }
    let type = ObjectIdentifier(Self.self)
    if checkedRules.withLock({ $0[type] === catalog.rules }) { return }
    for rule in try declaredRules() where !has(rule, in: catalog) {
      throw JournalError(
        .wrongUse,
        "\(Self.self) declares that \(rule), but the journal does not have this rule; call "
          + "journal.declare(\(Self.self).self) after opening it")
    }
    checkedRules.withLock { $0[type] = catalog.rules }
  }
}

/// The rules in which those of each type were found last, because each insertion asks for them.
private let checkedRules = Lock<[ObjectIdentifier: RuleSet]>([:])

extension Draft where State == Catalog {
  /// Records the rules of types of items that the journal does not have yet. A rule for the same property that differs,
  /// such as by what happens on a deletion, is changed. Rules that no type declares any more stay; see
  /// ``deleteRule(_:)``.
  /// - Throws: ``JournalError`` with code `wrongUse` if a key path leads to no attribute. The commit is `rejected`, and
  ///   names the items, if some don't keep a rule.
  public mutating func declare(_ types: any CatalogItem.Type...) throws(JournalError) {
    for type in types { try declare(type) }
  }

  private mutating func declare(_ type: any CatalogItem.Type) throws(JournalError) {
    for rule in try type.declaredRules() {
      if let known = state.rules(ofKind: rule.kind).first(where: { $0.replaces(rule) }) {
        try update(known.id.entity, to: rule.record)
      } else {
        try addRule(form: rule.form.name, kind: rule.kind, attributes: rule.record.attributes)
      }
    }
  }

  /// Adds a rule in the form of its record, for programs without the Swift type: see Format.md.
  /// - Returns: the new rule's number.
  /// - Throws: ``JournalError`` with code `rejected` if this version does not know such a rule, or the kind is empty or
  ///   too long.
  @discardableResult
  package mutating func addRule(
    form: String, kind: String, attributes: [String: FieldValue]
  ) throws(JournalError) -> Catalog.Rule.ID {
    if form == "migration" { throw Rules.rejected("a migration is recorded by journal.migrate") }
    let id = Catalog.Rule.ID(state.ruleTable.highest + 1)
    try Rules.checkName(kind, "kind", of: id.entity)
    try add(
      id.entity,
      EntityRecord(attributes, fields: [RuleField.form: .string(form), RuleField.kind: .string(kind)]))
    return id
  }

  /// Deletes a rule. It stays in the history. Types that declare it refuse to write until it is declared again.
  /// - Throws: ``JournalError`` with code `rejected` if it does not exist.
  public mutating func deleteRule(_ id: Catalog.Rule.ID) throws(JournalError) { try delete(id.entity) }
}

extension Journal where State == Catalog {
  /// Records the rules of types of items, as an entry of its own. If the journal has them all, nothing is written, so an
  /// app calls this each time after opening.
  /// - Throws: ``JournalError`` with code `rejected` if items don't keep a rule; it names them. `wrongUse` if a key
  ///   path leads to no attribute. Otherwise as `commit` does.
  /// - Complexity: that of reading the items of a kind that gets a new rule.
  public func declare(_ types: any CatalogItem.Type..., by author: String = "") throws {
    // Nothing is written, so a journal that is open for reading will do.
    if try types.allSatisfy({ try $0.isDeclared(in: state) }) { return }
    try commit(by: author, note: "declared rules") { draft in
      for type in types { try draft.declare(type) }
    }
  }
}
