extension Catalog {
  /// The tables and indexes of a catalog.
  struct Contents: Sendable {
    var categoryTable = EntityTable()
    var itemTable = EntityTable()
    var imageTable = EntityTable()
    var tagTable = EntityTable()
    var ruleTable = EntityTable()

    var itemKindNumbers = TextInterner()
    var itemsByKind = EntityIndex()
    var itemsByCategory = EntityIndex()
    var imagesByItem = EntityIndex()
    var itemsByReference = EntityIndex()
    var itemsByKey = EntityIndex()
    var rules = RuleSet.none

    func table(of kind: EntityKind) -> EntityTable? { withTable(of: kind) { copy $0 } }

    /// Calls `body` with the table of a kind, which is not copied, because that would count four references.
    @inline(__always)
    func withTable<Result>(of kind: EntityKind, _ body: (borrowing EntityTable) -> Result) -> Result? {
      switch kind {
      case .category: body(categoryTable)
      case .item: body(itemTable)
      case .image: body(imageTable)
      case .tag: body(tagTable)
      case .rule: body(ruleTable)
      default: nil
      }
    }
  }
}

// Reading a table or an index through these properties counts as reading everything in it. So an observed answer is
// never outdated, whatever code has read the state.
extension Catalog {
  var categoryTable: EntityTable {
    _read {
      reads?.note(all: .category)
      yield contents.categoryTable
    }
    _modify { yield &contents.categoryTable }
  }

  package internal(set) var itemTable: EntityTable {
    _read {
      reads?.note(all: .item)
      yield contents.itemTable
    }
    _modify { yield &contents.itemTable }
  }

  var imageTable: EntityTable {
    _read {
      reads?.note(all: .image)
      yield contents.imageTable
    }
    _modify { yield &contents.imageTable }
  }

  var tagTable: EntityTable {
    _read {
      reads?.note(all: .tag)
      yield contents.tagTable
    }
    _modify { yield &contents.tagTable }
  }

  var ruleTable: EntityTable {
    _read {
      reads?.note(all: .rule)
      yield contents.ruleTable
    }
    _modify { yield &contents.ruleTable }
  }

  package internal(set) var itemKindNumbers: TextInterner {
    _read {
      reads?.note(all: .item, .rule)
      yield contents.itemKindNumbers
    }
    _modify { yield &contents.itemKindNumbers }
  }

  package internal(set) var itemsByKind: EntityIndex {
    _read {
      reads?.note(all: .item)
      yield contents.itemsByKind
    }
    _modify { yield &contents.itemsByKind }
  }

  var itemsByCategory: EntityIndex {
    _read {
      reads?.note(all: .item)
      yield contents.itemsByCategory
    }
    _modify { yield &contents.itemsByCategory }
  }

  package internal(set) var imagesByItem: EntityIndex {
    _read {
      reads?.note(all: .image)
      yield contents.imagesByItem
    }
    _modify { yield &contents.imagesByItem }
  }

  /// The items that refer to an item by a rule.
  var itemsByReference: EntityIndex {
    _read {
      reads?.note(all: .item, .rule)
      yield contents.itemsByReference
    }
    _modify { yield &contents.itemsByReference }
  }

  /// The items with a unique key, by a digest of the rule's number and the key.
  var itemsByKey: EntityIndex {
    _read {
      reads?.note(all: .item, .rule)
      yield contents.itemsByKey
    }
    _modify { yield &contents.itemsByKey }
  }

  /// The rules in `ruleTable`, decoded.
  var rules: RuleSet {
    _read {
      reads?.note(all: .rule)
      yield contents.rules
    }
    _modify { yield &contents.rules }
  }

  // MARK: Reading less than a table

  /// This state, which records in `reads` what is read of it.
  func tracked(by reads: CatalogReads?) -> Catalog {
    var catalog = self
    catalog.reads = reads
    return catalog
  }

  func row(of entity: EntityKey, _ table: borrowing EntityTable) -> EntityRow? {
    reads?.note(entity)
    return table[entity.number]
  }

  /// The number of entities in a table. Without the limit, a layer with a wrong count could make it negative.
  func count(of kind: EntityKind, _ table: borrowing EntityTable) -> Int {
    reads?.note(countOf: kind)
    return max(table.count, 0)
  }
}
