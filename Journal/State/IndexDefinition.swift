import CBOR

/// The entities that an index lists: those of one kind that have a text in one field, for example the items of a kind.
package struct IndexScope: Hashable, Sendable {
  /// The position of the kind among those of the model.
  package let table: Int
  package let field: Int
  /// The text in that field of all listed entities.
  package let text: String
  private let key: ValueKey
  private let path: AttributePath

  package init(table: Int, field: Int, text: String) {
    self.table = table
    self.field = field
    self.text = text
    key = ValueKey(.string(text))
    path = AttributePath(field: field)
  }

  package func lists(_ record: EntityRecord) -> Bool { record.key(at: path) == key }

  // Scopes are compared by `key`, which compares texts by their bytes.
  package static func == (left: IndexScope, right: IndexScope) -> Bool {
    left.table == right.table && left.field == right.field && left.key == right.key
  }

  package func hash(into hasher: inout Hasher) {
    hasher.combine(table)
    hasher.combine(field)
    hasher.combine(key)
  }
}

/// An index that a model's app has declared: the values at a path of the entities in a scope, or the words of its texts.
package struct IndexDefinition: Hashable, Sendable {
  package enum Content: Int, Sendable {
    /// The values of the versions that checkpoints show.
    case values
    /// The words of all versions.
    case words
    /// The values of all versions, for searches of the past. In a layer, such an index is a ``TextSegment`` with a word
    /// for each value.
    case pastValues
  }

  package let scope: IndexScope
  package let path: AttributePath
  package let content: Content

  package init(_ scope: IndexScope, _ path: AttributePath, _ content: Content = .values) {
    self.scope = scope
    self.path = path
    self.content = content
  }

  /// Calls `body` with each line that an entity has in the index.
  func forEachLine(of number: Int, _ record: EntityRecord, _ body: (ValueLine) -> Void) {
    guard scope.lists(record) else { return }
    if content == .words {
      var words = TextWords()
      words.read(record, at: path)
      for word in Set(words.words) {
        body(ValueLine(key: ValueKey(.string(String(decoding: word, as: UTF8.self))), member: number))
      }
    } else {
      record.forEachKey(at: path) { body(ValueLine(key: $0, member: number)) }
    }
  }
}
