package import CatalogModel
package import Foundation

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
    writer.object { writer in
      writeHead(to: &writer)
      writer.array("events", body)
    }
  }

  /// Writes all members except the events into the open object.
  package func writeHead(to writer: inout JSONWriter) {
    writer.member("revision", revision)
    writer.attribution(of: self)
    if isAnnotationErased {
      writer.member("metadata", .null)
    } else {
      writer.object("metadata") { writer in
        for (key, value) in metadata.sorted(by: { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }) {
          writer.member(key, value)
        }
      }
    }
    writer.member("digest", digest.hex)
  }
}

extension EntityChange {
  /// Writes one event of a history as `history --json` prints it.
  package func write(to writer: inout JSONWriter) {
    writer.object { writer in
      writer.member("revision", revision)
      writer.attribution(of: self)
      if isPruned { writer.member("pruned", true) }
      writer.key("event")
      Catalog.write(event, to: &writer)
      writer.object("changes") { Catalog.write(parts, of: event.entity.kind, to: &$0) }
    }
  }
}

extension Blame {
  /// Writes who set a part, as `blame --json` prints it.
  package func write(to writer: inout JSONWriter, of kind: EntityKind) {
    writer.object { writer in
      writer.member("field", Catalog.name(of: key, of: kind))
      writer.member("value", Catalog.shown(value, key, of: kind))
      writer.member("revision", revision)
      writer.attribution(of: self)
      if isPruned { writer.member("pruned", true) }
    }
  }
}

extension FoundEntity {
  /// Writes a found entity, as `find --json` prints it.
  package func write(to writer: inout JSONWriter) {
    writer.object { writer in
      writer.member("entity", Catalog.name(of: entity))
      writer.member("label", label)
      writer.member("kind", kind)
    }
  }
}

extension Catalog.Tag {
  /// Writes a tag and who made it, as `tag --json` prints it.
  /// - Parameter entry: the entry of revision ``created``; nil if it can't be read.
  package func write(to writer: inout JSONWriter, made entry: Entry?) {
    writer.object { writer in
      writer.member("name", name)
      writer.member("revision", revision)
      writer.attribution(of: entry)
    }
  }
}

extension RestorePlan {
  /// Writes into the open object what a plan would do or has done, as `restore --json` prints it.
  /// - Parameter revision: the revision of its entry, or nil if there is none.
  package func writeMembers(to writer: inout JSONWriter, revision: Revision?, isDryRun: Bool) {
    writer.member("revision", revision)
    writer.member("dryRun", isDryRun)
    writer.array("changes", of: changes) { Catalog.write($1, to: &$0) }
    writer.array("undoes", of: undoes) { $1.write(to: &$0) }
    writer.array("conflicts", of: conflicts) { $1.write(to: &$0) }
  }
}

extension LaterEdit {
  fileprivate func write(to writer: inout JSONWriter) {
    writer.object { writer in
      writer.member("revision", revision)
      writer.attribution(of: self)
      writer.member("entity", Catalog.name(of: entity))
      writer.array("fields", of: fields.filter { !$0.isByteCount(of: entity.kind) }) { writer, field in
        writer.string(Catalog.name(of: field, of: entity.kind))
      }
    }
  }
}
