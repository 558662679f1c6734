import CatalogModel
import JSON

extension SharingStatus {
  /// Where the shared log is, how far behind this node is, and how commits are made durable there, for people.
  var lines: [(name: String, text: String)] {
    var lines = [(name: "shared at", text: address.printable)]
    if let newestRevision {
      var text = "revision \(newestRevision.grouped)"
      if let missingCount {
        text += "; this node is "
        text += missingCount == 0 ? "up to date" : "\(missingCount.counted("entry", "entries")) behind"
      }
      lines.append(("shared log", text))
    }
    if let summary { lines.append(("flushed", summary.printable)) }
    return lines
  }

  /// Writes the member `shared` of an object.
  func write(to writer: inout JSONWriter) {
    writer.object("shared") { writer in
      writer.member("address", address)
      if let newestRevision { writer.member("revision", newestRevision) }
      if let missingCount { writer.member("behind", missingCount) }
      writer.member("flushed", summary)
      writer.member("warning", warning)
      writer.member("problem", problem.map { "\($0)" })
    }
  }
}
