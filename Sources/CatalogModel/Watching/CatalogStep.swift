import CBOR

/// The step from one version of a catalog to a newer one.
struct CatalogStep {
  let old: Catalog.Contents
  let new: Catalog.Contents
  private let revision: Revision

  init(from old: Version<Catalog>, to new: Version<Catalog>) {
    (self.old, self.new, revision) = (old.state.contents, new.state.contents, old.revision)
  }

  func count(of kind: EntityKind, in contents: Catalog.Contents) -> Int {
    contents.table(of: kind)?.count ?? 0
  }

  /// The numbers of the entities of a kind that have changed, in order. Nil if only reading all entities could tell,
  /// because an erasure or a pruning is in between.
  func numbers(of kind: EntityKind) -> [Int]? {
    guard let old = old.table(of: kind), let new = new.table(of: kind),
      let numbers = new.numbers(changedSince: old, of: revision)
    else { return nil }
    return numbers.sorted()
  }

  func change(of item: Int) -> ItemChange {
    ItemChange(number: item, old: old.itemTable[item], new: new.itemTable[item])
  }

  /// The items to which an image belongs in the two states.
  func owners(ofImage number: Int) -> [Int] {
    [old, new].compactMap { contents in
      contents.imageTable[number].flatMap { try? ImageFields($0.record) }?.item
    }
  }
}

/// An item in the two states of a step; nil where it does not exist.
struct ItemChange {
  let number: Int
  let old: EntityRow?
  let new: EntityRow?
}

extension EntityKind {
  /// All kinds of a catalog.
  static var all: [EntityKind] { Catalog.kindNames.indices.map { EntityKind(rawValue: UInt8($0)) } }
}
