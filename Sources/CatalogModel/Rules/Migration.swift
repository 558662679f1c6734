import CBOR

/// A change of stored items that goes with a change of an app's types, made once in each journal.
///
/// ```swift
/// try journal.migrate([
///   Migration("titles are names") { try $0.renameAttribute("title", to: "name", ofKind: "book") },
/// ])
/// ```
/// Past states stay as they were. To read them, declare a type of the same kind for the old form, and convert its
/// values to the present type.
public struct Migration: Sendable {
  /// The name, which the journal records. Do not change it later.
  public let name: String
  /// Whether an app that does not know the migration must not use the journal.
  public let isBreaking: Bool
  let body: @Sendable (inout Draft<Catalog>) throws -> Void

  /// - Parameters:
  ///   - name: a name that no other migration of the app has, up to 4,096 bytes.
  ///   - isBreaking: whether `Journal.migrate(_:by:)` of an app that does not know the migration throws `newerFormat`.
  ///   - body: makes the changes. If it throws, none of them is made.
  public init(
    _ name: String, isBreaking: Bool = false,
    _ body: @escaping @Sendable (inout Draft<Catalog>) throws -> Void
  ) {
    self.name = name
    self.isBreaking = isBreaking
    self.body = body
  }
}

extension Draft where State == Catalog {
  /// Renames an attribute of all items of a kind. Items without it stay as they are.
  /// - Throws: `JournalError` with code `wrongUse` if an item has both names, or these are the same; other codes as
  ///   ``updateItem(_:set:remove:)``.
  /// - Complexity: O(n) in the items of the kind.
  public mutating func renameAttribute(
    _ name: String, to newName: String, ofKind kind: String
  ) throws(JournalError) {
    guard name != newName else {
      throw JournalError(.wrongUse, "an attribute can't be renamed to its own name, \(name)")
    }
    for item in state.items(ofKind: kind) {
      guard let value = item[name] else { continue }
      guard item[newName] == nil else {
        throw JournalError(.wrongUse, "\(Catalog.name(of: item.id.entity)) has both \(name) and \(newName)")
      }
      try updateItem(item.id, set: [newName: value], remove: [name])
    }
  }
}

extension Catalog {
  /// The names of the migrations that the journal has had, in the order in which they were run.
  public var migrations: [String] { rules.migrations.map(\.name) }
}

extension Journal where State == Catalog {
  /// Runs the migrations that the journal has not had yet, in order. Each makes an entry with its name as the note.
  ///
  /// Call it after opening, with all migrations that the app has ever had. A crash between two migrations is harmless:
  /// the next call runs the remaining ones.
  /// - Returns: the names of the migrations that this call has run.
  /// - Throws: ``JournalError`` with code `newerFormat` if the journal has had a breaking migration that is not in
  ///   `migrations`; `wrongUse` if two migrations have the same name; other codes as `commit`. If a migration throws,
  ///   its error is rethrown, and the migrations before it stay.
  @discardableResult
  public func migrate(_ migrations: [Migration], by author: String = "") throws -> [String] {
    let names = Set(migrations.map(\.name))
    guard names.count == migrations.count else {
      throw JournalError(.wrongUse, "two migrations have one name: \(migrations.map(\.name).sorted())")
    }
    @Sendable func checkKnows(_ catalog: Catalog) throws(JournalError) {
      let unknown = catalog.rules.migrations.first { $0.isBreaking && !names.contains($0.name) }
      guard let unknown else { return }
      throw JournalError(
        .newerFormat,
        "the journal was changed by the migration \"\(unknown.name)\", which this app does not know; use a newer "
          + "version of the app")
    }
    try checkKnows(state)
    var done: [String] = []
    for migration in migrations where !state.migrations.contains(migration.name) {
      let isNew = try commit(by: author, note: migration.name) { draft in
        // Checked again, because another node may have run this migration, or others, meanwhile.
        try checkKnows(draft.state)
        if draft.state.migrations.contains(migration.name) { return false }
        try migration.body(&draft)
        try draft.add(migration)
        return true
      }
      if isNew.value { done.append(migration.name) }
    }
    return done
  }
}

extension Draft where State == Catalog {
  fileprivate mutating func add(_ migration: Migration) throws(JournalError) {
    let entity = EntityKey.rule(state.ruleTable.highest + 1)
    try Rules.checkName(migration.name, "name", of: entity)
    let rule = Catalog.Rule(
      0, kind: "", .migration(migration.name, isBreaking: migration.isBreaking), [])
    try add(entity, rule.record)
  }
}
