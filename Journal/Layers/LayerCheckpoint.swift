/// A revision at which a layer's state can be opened, and the facts about that state that are known without reading it.
package struct LayerCheckpoint: Sendable, Equatable {
  package var revision: Revision
  /// The number of events of all entries up to the revision.
  var eventCount: Int
  /// The counts of entities, by kind.
  var tables: [EntityTotals]
  /// The number of texts that have numbers, by list.
  var textCounts: [Int]
}

extension LayerCheckpoint {
  init(revision: Revision, eventCount: Int, _ parts: StateParts) {
    self.init(
      revision: revision, eventCount: eventCount, tables: parts.tables.map(\.totals),
      textCounts: parts.lists.map(\.texts.count))
  }

  /// The checkpoint of the empty state.
  static func start(_ shape: StateShape) -> LayerCheckpoint {
    LayerCheckpoint(
      revision: 0, eventCount: 0, tables: shape.kinds.map { _ in EntityTotals() },
      textCounts: shape.lists.map { _ in 0 })
  }

  var entityCount: Int { tables.reduce(0) { $0 + $1.count } }
}

/// The shape of all states of a model, by which a layer is read and written.
struct StateShape: Sendable {
  let schema: String
  let kinds: [String]
  /// The names of the numbered fields of each kind.
  let fieldNames: [[String]]
  let indexes: [String]
  let lists: [String]
}

extension StateShape {
  /// What the developer of a model has forgotten if a layer of the same version has another shape.
  static let advice =
    "it lacks parts of the model; when the kinds, indexes or lists of a model change, raise the version in its schema"

  /// Nil for a model without parts, which has no layers.
  init?<State: EventSourced>(_: State.Type) {
    guard let parts = State().parts else { return nil }
    schema = State.schema
    kinds = State.kindNames
    fieldNames = kinds.indices.map { State.fieldNames(of: EntityKind(rawValue: UInt8($0))) }
    indexes = parts.indexes.map(\.name)
    lists = parts.lists.map(\.name)
  }
}
