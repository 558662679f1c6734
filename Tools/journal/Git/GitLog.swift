/// The commits of a first-parent line, oldest first, from one running `git log`.
final class GitLog {
  private let repository: GitRepository
  private let process: ChildProcess
  /// The hash of the next commit, if it was read at the end of the previous commit.
  private var nextHash: String?
  private var isAtEnd = false

  /// Starts at the first commit of the tip's first-parent line or, if `start` is given, after that commit.
  init(_ repository: GitRepository, to tip: String, after start: String?) throws {
    self.repository = repository
    // The options override configuration that would change the output.
    process = try repository.start(
      [
        "-c", "log.showSignature=false", "log", "-O/dev/null", "--first-parent", "--reverse",
        "--diff-merges=first-parent", "--raw", "-z", "--no-renames", "--no-abbrev", "--root",
        "--no-color", "--no-notes", "--no-mailmap", "--no-relative",
        "--ignore-submodules=none", "--encoding=UTF-8",
        "--format=format:%x01%H%x00%at%x00%ct%x00%an%x00%ae%x00%B%x00",
        tip,
      ] + (start.map { ["^" + $0] } ?? []) + ["--"])
  }

  func next() throws -> GitCommit? {
    guard let hash = try takeHash() else { return nil }
    let authored = try repository.date(field(), "author", of: hash)
    let committed = try repository.date(field(), "committer", of: hash)
    let (name, address) = (try field(), try field())
    var message = try field()
    while message.utf8.last == UInt8(ascii: "\n") { message.unicodeScalars.removeLast() }
    var changes: [GitChange] = []
    while let token = try process.read(upTo: 0) {
      // A newline separates a message from its changes, and nothing separates two commits.
      let text = token.first == UInt8(ascii: "\n") ? token.dropFirst() : token
      if text.first == 1 {
        nextHash = String(decoding: text.dropFirst(), as: UTF8.self)
        break
      } else if text.first == UInt8(ascii: ":") {
        changes.append(try change(text))
      }
    }
    return GitCommit(
      hash: hash, author: name.isEmpty ? address : name, authored: authored, committed: committed,
      message: message, changes: changes)
  }

  private func takeHash() throws -> String? {
    if let hash = nextHash {
      nextHash = nil
      return hash
    }
    while !isAtEnd, let token = try process.read(upTo: 0) {
      if token.first == 1 { return String(decoding: token.dropFirst(), as: UTF8.self) }
    }
    isAtEnd = true
    try repository.checkEnd(process)
    return nil
  }

  /// Parses a change, `:100644 100755 <old hash> <new hash> M`, whose path is the next text.
  private func change(_ line: ArraySlice<UInt8>) throws -> GitChange {
    let words = line.split(separator: UInt8(ascii: " "))
    guard words.count == 5, let path = try process.read(upTo: 0) else { throw broken }
    return GitChange(
      path: GitPath.text(path),
      old: words[4].first == UInt8(ascii: "A") ? nil : GitFile(mode: words[0].dropFirst(), hash: words[2]),
      file: words[4].first == UInt8(ascii: "D") ? nil : GitFile(mode: words[1], hash: words[3]))
  }

  private func field() throws -> String {
    guard let token = try process.read(upTo: 0) else { throw broken }
    return String(decoding: token, as: UTF8.self)
  }

  private var broken: Failure {
    Failure.unreadable("git log of \(repository.path) ended early: \(process.errorText)")
  }
}
