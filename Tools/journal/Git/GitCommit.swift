/// A commit, and its changes relative to its first parent.
struct GitCommit {
  /// In hexadecimal digits.
  let hash: String
  let author: String
  /// Seconds since 1970; nil if the commit has no date that git can read.
  let seconds: Int64?
  /// The whole message, without the line breaks at its end.
  let message: String
  let changes: [GitChange]
}

/// What a commit did to one file.
struct GitChange {
  let path: String
  /// The new file; nil if it was deleted.
  let file: GitFile?
}

/// A file in a tree.
struct GitFile: Equatable {
  /// Six octal digits: `100644`, `100755`, `120000` for a symbolic link, `160000` for a submodule.
  let mode: String
  /// The name of the content, in hexadecimal digits.
  let hash: String

  /// A submodule's content is in another repository.
  var hasContent: Bool { mode != "160000" }
}
