import PropertyLists

/// An index of words as the layers of a state have it.
final class StackedWords: WordsBase {
  private let stack: LayerStack
  private let definition: IndexDefinition

  init(_ stack: LayerStack, _ definition: IndexDefinition) {
    self.stack = stack
    self.definition = definition
  }

  func hits(ofAll words: [SoughtWord]) -> [WordHit] {
    let revision = stack.checkpoint.revision
    let kind = definition.scope.table
    return stack.layers.indices.flatMap { index in
      let layer = stack.layers[index]
      var hits =
        layer.read { (contents) throws(ArchiveError) -> [WordHit] in
          let hits = try contents.knownOrScannedWords(definition).hits(ofAll: words, asOf: revision)
          if layer.top.revision <= revision { return hits.filter(\.isNewest) }
          var newest: [WordHit] = []
          for hit in hits {
            let version = try contents.version(kind, hit.number, asOf: revision)
            if version?.revision == hit.revision { newest.append(hit) }
          }
          return newest
        } ?? []
      // A later layer that has the entity has another version of it, or the same one.
      for later in stack.layers[..<index] where !hits.isEmpty {
        hits =
          later.read { (contents) throws(ArchiveError) -> [WordHit] in
            var left: [WordHit] = []
            for hit in hits where try contents.version(kind, hit.number, asOf: revision) == nil {
              left.append(hit)
            }
            return left
          } ?? []
      }
      return hits
    }
  }
}
