import CatalogModel
import JSON

extension SharingStatus {
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

  var json: JSONObject {
    [
      "address": address, "revision": ifAny(newestRevision), "behind": ifAny(missingCount),
      "flushed": summary, "warning": warning, "problem": problem.map { "\($0)" },
    ]
  }
}
