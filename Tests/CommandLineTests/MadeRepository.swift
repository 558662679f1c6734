import Foundation

/// A repository written through `git fast-import`, which takes any bytes as names and contents.
struct MadeRepository {
  enum Change {
    case file(String, Data, mode: String = "100644")
    /// A file whose name is not UTF-8.
    case named([UInt8], Data)
    case submodule(String, commit: String)
    case delete(String)
    case deleteAll
  }

  let path: String
  private var stream = Data()
  private var seconds = 1_500_000_000
  /// The branches that earlier calls of `write` made; fast-import must be told to continue there.
  private var written: Set<String> = []
  private var new: Set<String> = []

  init(_ path: String, format: String = "sha1") throws {
    self.path = path
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    try git(path, "init", "-q", "-b", "main", "--object-format=\(format)")
  }

  /// Adds a commit to a branch.
  /// - Parameters:
  ///   - later: the seconds since the previous commit.
  ///   - merging: a branch that becomes the second parent.
  ///   - authored: the author's date, if not five seconds before the other.
  ///   - committed: the committer's date.
  mutating func commit(
    _ message: String, on branch: String = "main", from start: String? = nil, merging: String? = nil,
    by author: String = "Ana", later: Int = 60, authored: String? = nil, committed: String? = nil,
    _ changes: [Change] = []
  ) {
    seconds += later
    line("commit refs/heads/\(branch)")
    line("author \(author) <ana@example.com> \(authored ?? "\(seconds) +0200")")
    line("committer Git <git@example.com> \(committed ?? "\(seconds + 5) +0000")")
    data(Data(message.utf8))
    if let start {
      line("from refs/heads/\(start)")
    } else if written.contains(branch), !new.contains(branch) {
      line("from refs/heads/\(branch)^0")
    }
    new.insert(branch)
    if let merging { line("merge refs/heads/\(merging)") }
    for change in changes { append(change) }
  }

  private mutating func append(_ change: Change) {
    switch change {
    case .file(let path, let bytes, let mode):
      line("M \(mode) inline \(Self.quoted(Array(path.utf8)))")
      data(bytes)
    case .named(let path, let bytes):
      line("M 100644 inline \(Self.quoted(path))")
      data(bytes)
    case .submodule(let path, let commit): line("M 160000 \(commit) \(Self.quoted(Array(path.utf8)))")
    case .delete(let path): line("D \(Self.quoted(Array(path.utf8)))")
    case .deleteAll: line("deleteall")
    }
  }

  private static func quoted(_ path: [UInt8]) -> String {
    let bytes = path.map { byte in
      let octal = String(byte, radix: 8)
      return "\\" + String(repeating: "0", count: 3 - octal.count) + octal
    }
    return "\"\(bytes.joined())\""
  }

  private mutating func line(_ text: String) { stream += Data((text + "\n").utf8) }

  private mutating func data(_ bytes: Data) {
    line("data \(bytes.count)")
    stream += bytes
    line("")
  }

  /// Writes what was added since the last call.
  mutating func write() throws {
    try git(path, "fast-import", "--quiet", "--force", "--date-format=raw-permissive", input: stream)
    stream = Data()
    written.formUnion(new)
    new = []
  }
}

extension Data {
  init(_ text: String) { self.init(text.utf8) }

  /// The parts between a byte, as texts of any bytes.
  func parts(endingWith end: UInt8) -> [Data] { split(separator: end).map { Data($0) } }
}
