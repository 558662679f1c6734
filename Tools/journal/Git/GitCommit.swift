import CBOR

/// A commit, and its changes relative to its first parent.
struct GitCommit {
  let hash: String
  /// The name, or the address if there is none.
  let author: String
  let authored: GitDate
  let committed: GitDate
  /// Without the line breaks at the end.
  let message: String
  let changes: [GitChange]
}

struct GitChange {
  let path: String
  /// Nil if the file was added.
  let old: GitFile?
  /// Nil if the file was deleted.
  let file: GitFile?
}

struct GitFile: Equatable {
  /// Six octal digits: `100644`, `100755`, `120000` for a symbolic link, `160000` for a submodule.
  let mode: String
  /// In hexadecimal digits.
  let hash: String

  init(mode: some Collection<UInt8>, hash: some Collection<UInt8>) {
    self.mode = String(decoding: mode, as: UTF8.self)
    self.hash = String(decoding: hash, as: UTF8.self)
  }

  /// A submodule's content is in another repository.
  var hasContent: Bool { mode != "160000" }
}

struct GitDate {
  private static let textLimit = 100

  /// The beginning of the text: seconds since 1970 and a zone, or anything else.
  let text: String
  /// Nil if it is missing, no number, or outside the years 1 to 9999, which a journal's dates have.
  let timestamp: Timestamp?

  init(_ text: String) {
    self.text = String(text.prefix(Self.textLimit))
    let seconds = text.split(separator: " ").first.flatMap { Int64($0) }
    let (microseconds, overflows) = (seconds ?? 0).multipliedReportingOverflow(by: 1_000_000)
    let stamp = Timestamp(microseconds: microseconds)
    timestamp = seconds != nil && !overflows && stamp.hasFourDigitYear ? stamp : nil
  }

  /// For metadata; nil if the date is missing.
  var description: String? { timestamp?.description ?? (text.isEmpty ? nil : text) }
}
