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
