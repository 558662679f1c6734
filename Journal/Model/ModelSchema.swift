/// The name of a model and the version of its records: `catalog/1`.
package struct ModelSchema: Hashable, Sendable, CustomStringConvertible {
  /// How many bytes of UTF-8 a name may have.
  static let nameByteLimit = 200
  /// How many kinds of entities a model may have: a kind is one byte.
  private static let kindLimit = 256

  package let name: String
  /// The version of the records, at least 1.
  package let version: Int

  /// Nil if FORMAT can't hold the name, or if the version is not a number from 1.
  package init?(name: some StringProtocol, version: some StringProtocol) {
    guard !name.isEmpty, name.utf8.count <= Self.nameByteLimit,
      name.unicodeScalars.allSatisfy({ !$0.properties.isWhitespace && $0.value >= 0x20 && $0.value != 0x7F }),
      let number = Int(version), number > 0, String(number) == version
    else { return nil }
    self.name = String(name)
    self.version = number
  }

  /// The schema that a model declares.
  /// - Throws: ``JournalError`` with code `wrongUse` if the schema is not a name and a version, or if the model has too
  ///   many kinds of entities.
  package init<State: EventSourced>(of model: State.Type) throws(JournalError) {
    let text = model.schema
    guard let slash = text.lastIndex(of: "/"),
      let schema = ModelSchema(name: text[..<slash], version: text[text.index(after: slash)...])
    else {
      throw JournalError(
        .wrongUse,
        "\"\(text)\" is not a schema, which is a name of up to \(Self.nameByteLimit) bytes without spaces, a slash "
          + "and a version from 1, such as \"catalog/1\"")
    }
    guard model.kindNames.count <= Self.kindLimit else {
      throw JournalError(
        .wrongUse,
        "the model \(text) has \(model.kindNames.count) kinds of entities; it may have \(Self.kindLimit)")
    }
    self = schema
  }

  package var description: String { "\(name)/\(version)" }

  /// Fails unless a model of this schema can read records that were written with another: it must have the same name,
  /// and an equal or older version.
  /// - Parameter revision: the entry that was written with the other schema; nil for the journal itself.
  package func checkReads(_ written: ModelSchema, revision: Revision? = nil, path: String)
    throws(JournalError)
  {
    guard written.name == name else {
      throw JournalError(
        .otherModel, "the journal has events of \(written), not of \(self); open it with its own app",
        revision: revision, path: path)
    }
    guard written.version <= version else {
      throw JournalError(
        .newerFormat,
        "the journal was written by \(written), and this app knows \(name) up to version \(version); use a newer "
          + "version of the app", revision: revision, path: path)
    }
  }
}

extension ModelSchema {
  /// Fails if an entry of a piece was written by a newer version of the model.
  package func checkReads(_ piece: EntryPiece, path: String) throws(JournalError) {
    guard piece.schemaVersion > version,
      let written = ModelSchema(name: name, version: "\(piece.schemaVersion)")
    else { return }
    try checkReads(written, revision: piece.entries.first?.revision, path: path)
  }
}

/// Converts events of older versions of a model as they are read.
package struct EventUpcast: Sendable {
  package let schema: ModelSchema
  private let upcast: @Sendable (JournalEvent, Int) throws(JournalError) -> JournalEvent

  package init<State: EventSourced>(_ model: State.Type) throws(JournalError) {
    schema = try ModelSchema(of: model)
    upcast = { event, version throws(JournalError) in try State.upcast(event, from: version) }
  }

  /// Converts an event to this version of the model.
  /// - Throws: ``JournalError``: `newerFormat` for an event of a newer version, `damaged` if the model changed more
  ///   than the record or the changes, or the error that the model throws.
  @inline(__always)
  func callAsFunction(_ event: JournalEvent, from version: Int, at revision: Revision) throws(JournalError)
    -> JournalEvent
  {
    version == schema.version ? event : try convert(event, from: version, at: revision)
  }

  private func convert(
    _ event: JournalEvent, from version: Int, at revision: Revision
  ) throws(JournalError) -> JournalEvent {
    guard version < schema.version else {
      throw JournalError(
        .newerFormat,
        "the entry was written by version \(version) of \(schema.name), and this app knows versions up to "
          + "\(schema.version); use a newer version of the app", revision: revision)
    }
    // Erased content can't be converted.
    if case .erased = event.change { return event }
    let current = try upcast(event, version)
    guard current.entity == event.entity, current.previous == event.previous,
      current.operation == event.operation
    else {
      throw JournalError(
        .damaged,
        "\(schema) converted an event of version \(version) into one that differs in more than its record or its "
          + "changes", revision: revision)
    }
    return current
  }
}
