import CBOR

/// A commit, and its changes relative to its first parent.
struct GitCommit {
  /// In hexadecimal digits.
  let hash: String
  /// The author's name, or the address if there is no name.
  let author: String
  let authored: GitDate
  let committed: GitDate
  /// The whole message, without the line breaks at its end.
  let message: String
  let changes: [GitChange]
}

/// What a commit did to one file.
struct GitChange {
  let path: String
  /// The file before; nil if it was added.
  let old: GitFile?
  /// The new file; nil if it was deleted.
  let file: GitFile?
}

/// A file in a tree.
struct GitFile: Equatable {
  /// Six octal digits: `100644`, `100755`, `120000` for a symbolic link, `160000` for a submodule.
  let mode: String
  /// The name of the content, in hexadecimal digits.
  let hash: String

  init(mode: some Collection<UInt8>, hash: some Collection<UInt8>) {
    self.mode = String(decoding: mode, as: UTF8.self)
    self.hash = String(decoding: hash, as: UTF8.self)
  }

  /// A submodule's content is in another repository.
  var hasContent: Bool { mode != "160000" }
}

/// A date of a commit.
struct GitDate {
  private static let textLimit = 100

  /// The beginning of what the commit has: seconds since 1970 and a zone, or anything else.
  let text: String
  /// Nil if it is missing or no number, or if its year is not 1 to 9999: a journal can't have such a date.
  let timestamp: Timestamp?

  init(_ text: String) {
    self.text = String(text.prefix(Self.textLimit))
    let seconds = text.split(separator: " ").first.flatMap { Int64($0) }
    let (microseconds, overflows) = (seconds ?? 0).multipliedReportingOverflow(by: 1_000_000)
    let stamp = Timestamp(microseconds: microseconds)
    timestamp = seconds != nil && !overflows && stamp.hasFourDigitYear ? stamp : nil
  }

  /// The date as metadata have it; nil if it is missing.
  var description: String? { timestamp?.description ?? (text.isEmpty ? nil : text) }
}
