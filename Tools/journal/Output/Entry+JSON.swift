import CatalogModel
import JSON

extension Entry {
  /// Writes the entry as `log --json` prints it, without the line's end.
  func write(to writer: inout JSONWriter) {
    write(to: &writer) { writer in
      for event in events { Catalog.write(event, to: &writer) }
    }
  }

  /// The same with events that `body` writes.
  func write(to writer: inout JSONWriter, events body: (inout JSONWriter) -> Void) {
    writer.beginObject()
    writer.member("revision", revision)
    writer.member("date", date.precise)
    if date.differs(from: clockDate) { writer.member("clockDate", clockDate.precise) }
    writer.member("author", isAnnotationErased ? nil : author)
    writer.member("note", isAnnotationErased ? nil : note)
    writer.key("metadata")
    if isAnnotationErased {
      writer.null()
    } else {
      writer.beginObject()
      for (key, value) in metadata.sorted(by: { ExactText($0.key) < ExactText($1.key) }) {
        writer.member(key, value)
      }
      writer.endObject()
    }
    writer.member("digest", digest.hex)
    writer.key("events")
    writer.beginArray()
    body(&writer)
    writer.endArray()
    writer.endObject()
  }
}
