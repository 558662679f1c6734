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

  /// Requires that the property refers to an existing item. Such a property can't become nil, so with `.nullify`,
  /// `Journal.declare(_:by:)` throws `wrongUse`.
  public static func reference<Target: CatalogItem>(
    _ property: any KeyPath<Model, ItemID<Target>> & Sendable, onDelete action: Catalog.Rule.DeleteAction
  ) -> ItemRule {
    ItemRule(
      .reference(to: Target.kind, onDelete: action), [property],
      problem: action == .nullify
        ? "\(property) of \(Model.self) is not optional, so it can't lose its reference; make it optional, or use another "
          + "onDelete" : nil)
  }

  /// Requires that the property refers to an existing item, or is nil.
  public static func reference<Target: CatalogItem>(
    _ property: any KeyPath<Model, ItemID<Target>?> & Sendable, onDelete action: Catalog.Rule.DeleteAction
  ) -> ItemRule { ItemRule(.reference(to: Target.kind, onDelete: action), [property]) }

  /// Requires that each element of the property refers to an existing item.
  public static func reference<Target: CatalogItem, Elements: QueryArray>(
    _ property: any KeyPath<Model, Elements> & Sendable, onDelete action: Catalog.Rule.DeleteAction
  ) -> ItemRule where Elements.Element == ItemID<Target> {
    ItemRule(.reference(to: Target.kind, onDelete: action), [property])
  }

  /// Requires that no two items have equal values of these properties. Texts are compared by their bytes, or without
  /// case if `ignoringCase` is true; numbers by value. Items are not compared if one of the properties is nil, an array
  /// or a dictionary.
  public static func unique(
    _ properties: (any PartialKeyPath<Model> & Sendable)..., ignoringCase: Bool = false
  ) -> ItemRule { ItemRule(.unique(ignoringCase: ignoringCase), properties) }

  /// Requires that each item has the property, even if another program writes the item.
  public static func required(_ property: any PartialKeyPath<Model> & Sendable) -> ItemRule {
    ItemRule(.required, [property])
  }
}

extension CatalogItem {
  /// The type's rules, all with the number 0.
  /// - Throws: ``JournalError`` with code `wrongUse` if a key path leads to no attribute, or two rules conflict.
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

  /// Throws `wrongUse` if an index of the type is on no attribute, or if the catalog lacks one of the type's rules.
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

/// By type, the rules of the last catalog that had all rules of the type. A cache, because each insertion checks this.
private let checkedRules = Lock<[ObjectIdentifier: RuleSet]>([:])

extension Draft where State == Catalog {
  /// Records those rules of types of items that the journal does not have yet. If the journal has a different rule of
  /// the same form for the same properties, for example with another `onDelete`, that rule is changed. Rules that no
  /// type declares any more stay: see ``deleteRule(_:)``.
  /// - Throws: ``JournalError`` with code `wrongUse` if a key path leads to no attribute. If existing items break a
  ///   rule, the commit is `rejected` with an error that names them.
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
  /// - Throws: ``JournalError`` with code `rejected` if this version of the library does not know such a rule, or if
  ///   the kind is empty or too long.
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

  /// Deletes a rule, which stays in the history. Types that declare it refuse to write until it is declared again.
  /// - Throws: ``JournalError`` with code `rejected` if the rule does not exist.
  public mutating func deleteRule(_ id: Catalog.Rule.ID) throws(JournalError) { try delete(id.entity) }
}

extension Journal where State == Catalog {
  /// Records the rules of types of items, in a separate entry. If the journal has all these rules, nothing is written,
  /// so an app calls this after each opening.
  /// - Throws: ``JournalError`` with code `rejected` if existing items break a rule, in words that name the items;
  ///   `wrongUse` if a key path leads to no attribute; other codes as `commit`.
  /// - Complexity: O(n log n) for the n items of the kinds that get a new rule.
  public func declare(_ types: any CatalogItem.Type..., by author: String = "") throws {
    // In this case nothing is written, so a journal that is open for reading is enough.
    if try types.allSatisfy({ try $0.isDeclared(in: state) }) { return }
    try commit(by: author, note: "declared rules") { draft in
      for type in types { try draft.declare(type) }
    }
  }
}
