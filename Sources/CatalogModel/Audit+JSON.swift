package import Foundation
package import JSON

// Entries, histories, blame and plans in JSON, as the command line prints them with `--json` and the HTTP API returns
// them.

extension Date {
  /// RFC 3339 with microseconds, in UTC.
  package var precise: String { Timestamp(self)?.description ?? "?" }
}

extension JSONWriter {
  /// Writes when, by whom and why an entry was made into the open object. The clock's date is there only if it differs.
  /// Author and note are null if they were erased; if there is no entry to read, the date is null too.
  package mutating func attribution(of entry: (some Attributed)?) {
    member("date", entry?.date.precise)
    if let clockDate = entry?.differingClockDate { member("clockDate", clockDate.precise) }
    let isKnown = entry?.isAnnotationErased == false
    member("author", isKnown ? entry?.author : nil)
    member("note", isKnown ? entry?.note : nil)
  }
}

extension Journal where State == Catalog {
  /// The revision of the first entry of the history up to a version, or nil if there is none.
  package func firstRevision(through version: Version<Catalog>) throws -> Revision? {
    let first = try revision(at: .start) + 1
    return version.revision >= first ? first : nil
  }

  /// The entry of a revision; nil if it was pruned or is damaged.
  package func readableEntry(at revision: Revision) throws -> Entry? {
    try readable { try entry(at: revision) }
  }

  /// The result of `body`; nil if an entry that it reads was pruned or is damaged.
  package func readable<Result>(_ body: () throws -> Result) throws -> Result? {
    do {
      return try body()
    } catch let error as JournalError where [.pruned, .damaged].contains(error.code) {
      return nil
    }
  }

  /// Writes the journal's counts into the open object, as `stat --json` prints them.
  package func writeCounts(of version: Version<Catalog>, to writer: inout JSONWriter) throws {
    let first = try firstRevision(through: version)
    writer.member("id", id.description)
    writer.member("revision", version.revision)
    if let base { writer.member("base", base.revision) }
    writer.member("firstDate", try first.flatMap { try readableEntry(at: $0) }?.date.precise)
    writer.member("date", first == nil ? nil : version.date.precise)
    writer.member("digest", version.digest.hex)
    writer.member("items", version.state.itemCount)
    writer.member("categories", version.state.categoryCount)
    writer.member("images", version.state.imageCount)
  }
}

extension Entry {
  /// Writes the entry as `log --json` prints it, without a newline.
  package func write(to writer: inout JSONWriter) {
    write(to: &writer) { writer in
      for event in events { Catalog.write(event, to: &writer) }
    }
  }

  /// The same, with events that `body` writes.
  package func write(to writer: inout JSONWriter, events body: (inout JSONWriter) -> Void) {
    writer.beginObject()
    writeHead(to: &writer)
    writer.key("events")
    writer.beginArray()
    body(&writer)
    writer.endArray()
    writer.endObject()
  }

  /// Writes all members except the events into the open object.
  package func writeHead(to writer: inout JSONWriter) {
    writer.member("revision", revision)
    writer.attribution(of: self)
    writer.key("metadata")
    if isAnnotationErased {
      writer.null()
    } else {
      writer.beginObject()
      for (key, value) in metadata.sorted(by: { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }) {
        writer.member(key, value)
      }
      writer.endObject()
    }
    writer.member("digest", digest.hex)
  }
}

extension EntityChange {
  /// Writes one event of a history as `history --json` prints it.
  package func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("revision", revision)
    writer.attribution(of: self)
    if isPruned { writer.member("pruned", true) }
    writer.key("event")
    Catalog.write(event, to: &writer)
    writer.key("changes")
    Catalog.write(parts, of: event.entity.kind, to: &writer)
    writer.endObject()
  }
}

extension Blame {
  /// Writes who set a part, as `blame --json` prints it.
  package func write(to writer: inout JSONWriter, of kind: EntityKind) {
    writer.beginObject()
    writer.member("field", Catalog.name(of: key, of: kind))
    writer.member("value", Catalog.shown(value, key, of: kind))
    writer.member("revision", revision)
    writer.attribution(of: self)
    if isPruned { writer.member("pruned", true) }
    writer.endObject()
  }
}

extension FieldKey {
  /// Whether it is the byte count of an image, which JSON omits because the digest is enough.
  package func isByteCount(of kind: EntityKind) -> Bool { Catalog.name(of: self, of: kind) == "@byteCount" }
}

extension FoundEntity {
  /// Writes a found entity, as `find --json` prints it.
  package func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("entity", Catalog.name(of: entity))
    writer.member("label", label)
    writer.member("kind", kind)
    writer.endObject()
  }
}

extension Catalog.Tag {
  /// Writes a tag and who made it, as `tag --json` prints it.
  /// - Parameter entry: the entry of revision ``created``; nil if it can't be read.
  package func write(to writer: inout JSONWriter, made entry: Entry?) {
    writer.beginObject()
    writer.member("name", name)
    writer.member("revision", revision)
    writer.attribution(of: entry)
    writer.endObject()
  }
}

extension RestorePlan {
  /// Writes into the open object what a plan would do or has done, as `restore --json` prints it.
  /// - Parameter revision: the revision of its entry, or nil if there is none.
  package func writeMembers(to writer: inout JSONWriter, revision: Revision?, isDryRun: Bool) {
    writer.key("revision")
    if let revision { writer.integer(revision) } else { writer.null() }
    writer.member("dryRun", isDryRun)
    writer.key("changes")
    writer.beginArray()
    for change in changes { Catalog.write(change, to: &writer) }
    writer.endArray()
    Self.write(undoes, "undoes", to: &writer)
    Self.write(conflicts, "conflicts", to: &writer)
  }

  private static func write(_ edits: [LaterEdit], _ key: String, to writer: inout JSONWriter) {
    writer.key(key)
    writer.beginArray()
    for edit in edits {
      writer.beginObject()
      writer.member("revision", edit.revision)
      writer.attribution(of: edit)
      writer.member("entity", Catalog.name(of: edit.entity))
      writer.key("fields")
      writer.beginArray()
      for field in edit.fields where !field.isByteCount(of: edit.entity.kind) {
        writer.string(Catalog.name(of: field, of: edit.entity.kind))
      }
      writer.endArray()
      writer.endObject()
    }
    writer.endArray()
  }
}
