import CatalogModel
import EntitySearch
import JSON

enum Restore: Verb {
  static let text = """
    restore: restores entities, or everything, as of a point in time

    Returns entities exactly to what they were at a point in time, as a new entry. No history is lost. Entities that were
    deleted since return under their old numbers, with their images, and with their category if it was deleted too.
    Attributes and entities that were added since are removed, unless --keep-new keeps them. An entity that you name and
    that did not exist at the point is deleted only with --force, and so is everything if nothing existed then.

    An entity may name its own point: item:42@yesterday. Several entities have one point in time; restore those with
    another one separately. Without a point, a deleted entity returns as it was before it was deleted. A day means its
    first moment, so --at today restores the end of yesterday. --dry-run shows what would change and whose later edits
    that would undo.

    What was erased can't be restored. --all, --category and --kind restore the rest, and name on standard error what they
    leave out.

    Arguments: JOURNAL
    [ENTITY]…: such as item:42
    [--at SELECTOR]: the point in time, such as yesterday or HEAD~3; a date is compared with the dates that
      order entries, not with the clock's dates
    [--all]: restore everything
    [--category C]: a category, and the items in it, now or then: 3, category:3, or its name at the point in
      time or, if none had that name then, now; a name that means another category now than then is refused
    [--kind KIND]: all items of a kind, now or then
    [--fields A,B]: only these attributes, or @category or @kind
    [--keep-new]: keep attributes and entities that were added since
    [--force]: delete entities that you name and that did not exist at the point, or all if none existed
    [--dry-run], [--note TEXT], [--by AUTHOR], [--full], [--json]

    $ journal restore Books.journal item:42 --at yesterday  # item 42 as it was
    $ journal restore Books.journal item:42  # item 42, which was deleted
    $ journal restore Books.journal item:42 --at 7 --fields title  # only its title
    $ journal restore Books.journal --all --at yesterday --keep-new --dry-run  # what restoring everything as
      of yesterday, but keeping what is new, would do
    """
  static let isPaged = true

  static func run(_ arguments: Arguments, _ terminal: Terminal) throws {
    let scopes = ["--all", "--category", "--kind"].filter { arguments.has($0) }
    let names = try arguments.values("ENTITY").map { try arguments.entityAndPoint($0) }
    guard scopes.count + (names.isEmpty ? 0 : 1) < 2 else {
      throw Failure.wrongUse("entities, --category, --kind and --all exclude each other")
    }
    guard !scopes.isEmpty || !names.isEmpty else {
      throw arguments.misuse("name what to restore: entities, --category, --kind or --all")
    }
    try RestoreTarget.check(names.map(\.entity))
    let points = Set(names.compactMap(\.point))
    guard points.count <= 1, points.isEmpty || !arguments.has("--at") else {
      throw Failure.wrongUse("a restore has one point in time; restore the others separately")
    }
    // The point of one entity does not apply to others.
    if !points.isEmpty, let other = names.first(where: { $0.point == nil }) {
      throw Failure.wrongUse(
        "--at is missing for \(Catalog.name(of: other.entity)); a restore has one point in time, so write --at for "
          + "all, or restore the others separately")
    }
    let given = try arguments.value("--at").map { try arguments.selector($0) } ?? points.first
    let noPoint = Failure.wrongUse("--at is missing: the point in time, such as --at yesterday")
    guard given != nil || names.count == 1 else { throw noPoint }
    let journal = try arguments.openForCommit(terminal)
    guard let point = try given ?? journal.pointBeforeDeletion(of: names[0].entity) else {
      let entity = names[0].entity
      guard journal.state.revision(of: entity) == 0 else { throw noPoint }
      throw try journal.absence(of: entity, at: journal.head.revision)
    }
    let revision = RevisionSelector.revision(try journal.revision(at: point))
    let parts = try arguments.parts("--fields")
    let erased = names.isEmpty ? try journal.state(asOf: revision).erasedEntities : []
    let leftOut = arguments.has("--all") ? erased : erased.filter { $0.kind == .item }
    if !leftOut.isEmpty {
      let note = Self.note(leavingOut: leftOut, at: try journal.revision(at: revision), arguments)
      terminal.sayAtEnd { [note] }
    }
    let target: RestoreTarget =
      if let category = arguments.value("--category") {
        .categories(try journal.categories(restoredBy: category, asOf: revision))
      } else if let kind = arguments.value("--kind") {
        .kind(kind)
      } else {
        names.isEmpty ? .everything : .entities(names.map(\.entity))
      }
    let plan = try journal.planRestore(
      of: target, parts, asOf: revision, keepsNew: arguments.has("--keep-new"),
      deletesNew: arguments.has("--force"))
    try arguments.carryOut(plan, in: journal, isWhole: leftOut.isEmpty, terminal)
  }

  /// A remark that erased entities can't be restored. Their kind and category are unknown, so they may not be among
  /// those that `--kind` or `--category` means.
  private static func note(
    leavingOut erased: [EntityKey], at revision: Revision, _ arguments: Arguments
  ) -> String {
    let list = erased.map { Catalog.name(of: $0) }.listed(upTo: 5)
    return "these can't be restored, because their content at revision \(revision) was erased: \(list)"
      + (arguments.has("--kind") ? "; whether they had this kind is not known" : "")
      + (arguments.has("--category") ? "; whether they were in this category is not known" : "")
  }
}

extension Journal where State == Catalog {
  /// The categories that `--category` means.
  /// - Throws: ``Failure`` if there is none, or if the name means other categories now than at the point in time.
  fileprivate func categories(
    restoredBy text: String, asOf point: RevisionSelector
  ) throws -> Set<CategoryID> {
    let found = try categories(named: text, asOf: point)
    let now = state.categories(named: text)
    if now.isEmpty || now == found { return found }
    let names = [found, now].map { ids in ids.sorted().map { Catalog.name(of: $0.entity) } }
    let revision = try revision(at: point)
    throw Failure.wrongUse(
      "\"\(text)\" was the name of \(names[0].joined(separator: ", ")) at revision \(revision), and is that of "
        + "\(names[1].joined(separator: ", ")) now; write the one to restore, such as --category \(names[0][0])"
    )
  }

  /// The last revision at which a deleted entity existed; nil if the entity is not deleted.
  fileprivate func pointBeforeDeletion(of entity: EntityKey) throws -> RevisionSelector? {
    guard let last = try history(of: entity, limit: 1).first, last.event.operation == .delete else {
      return nil
    }
    return .revision(last.revision - 1)
  }
}
