import Foundation

/// A git repository, read by running git.
struct GitRepository {
  let path: String

  /// - Throws: ``Failure`` if there is no repository, or no git.
  init(_ path: String) throws {
    self.path = path
    guard FileManager.default.fileExists(atPath: path) else {
      throw Failure(.wrongUse, "there is no folder \(path)")
    }
    let answer = try run(["rev-parse", "--git-dir"])
    guard answer.code == 0 else {
      throw Failure(.wrongUse, "\(path) is not a git repository that can be read: \(answer.complaint)")
    }
  }

  /// Starts git in the repository. Its messages are in English, and environment variables that name another repository
  /// (as in a hook) are removed.
  func start(_ arguments: [String]) throws -> ChildProcess {
    var environment = ProcessInfo.processInfo.environment
    for name in Self.misleading { environment[name] = nil }
    environment.merge(Self.safe) { $1 }
    return try ChildProcess("git", ["-C", path] + arguments, environment: environment)
  }

  private static let misleading = [
    "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_NAMESPACE", "GIT_PREFIX",
  ]

  /// A repository's configuration may come from anyone. If an object is missing, git would run the commands that the
  /// configuration names for its remote. The commands of this tool read neither the index nor a working tree, so no
  /// other setting can run anything. Replaced objects and grafts would hide history.
  private static let safe = [
    "LC_ALL": "C", "GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": "", "GIT_NO_REPLACE_OBJECTS": "1",
    // A missing file; git warns about an empty one.
    "GIT_GRAFT_FILE": "/dev/null/none",
  ]

  /// Runs git to its end, for short answers.
  private func run(_ arguments: [String]) throws -> (text: String, code: Int32, complaint: String) {
    let process = try start(arguments)
    var bytes: [UInt8] = []
    while try process.read(atMost: 4096, appendingTo: &bytes) > 0 {}
    let code = process.finish()
    let text = String(decoding: bytes, as: UTF8.self).trimmingCharacters(in: .newlines)
    return (text, code, process.errorText)
  }

  /// - Throws: ``Failure`` if the repository lacks commits: no later import could add them before the others.
  func checkIsWhole() throws {
    guard try run(["rev-parse", "--is-shallow-repository"]).text == "true" else { return }
    throw Failure(
      .wrongUse,
      "\(path.printable) is a shallow clone, which lacks the older commits; fetch them first with "
        + "git fetch --unshallow")
  }

  /// The hash of the newest commit of a branch, or of any other revision that git knows.
  /// - Throws: ``Failure`` if there is none.
  func tip(of branch: String) throws -> String {
    let answer = try run(["rev-parse", "--verify", "--end-of-options", branch + "^{commit}"])
    if answer.code == 0 { return answer.text }
    if try run(["rev-list", "-n", "1", "--all"]).text.isEmpty {
      throw Failure(.wrongUse, "the repository \(path) has no commits yet")
    }
    throw Failure(.wrongUse, "the repository \(path) has no branch or commit \"\(branch)\"")
  }

  /// Whether any commit on the first-parent line of a tip has a file.
  func has(_ file: String, upTo tip: String) throws -> Bool {
    let answer = try run(["rev-list", "--first-parent", "-n", "1", tip, "--", ":(top,literal)" + file])
    guard answer.code == 0 else {
      throw Failure(
        .unreadable, "git can't read the repository \(path) (exit \(answer.code)): \(answer.complaint)")
    }
    return !answer.text.isEmpty
  }

  /// How many commits the first-parent line of a tip has after a given commit, or in all; nil if that commit is not on
  /// the line.
  func count(to tip: String, after start: String?) throws -> Int? {
    let process = try self.start(["rev-list", "--first-parent", tip])
    let reader = PipeReader(process)
    var count = 0
    let wanted = start.map { Array($0.utf8) }
    while let line = try reader.read(upTo: UInt8(ascii: "\n")) {
      if let wanted, line.elementsEqual(wanted) { return count }
      count += 1
    }
    try checkEnd(process)
    return start == nil ? count : nil
  }

  /// All files of a commit's tree, in git's order.
  func files(at commit: String, _ body: (_ path: String, _ file: GitFile) -> Void) throws {
    let process = try start(["ls-tree", "-r", "-z", "--full-tree", commit])
    let reader = PipeReader(process)
    while let line = try reader.read(upTo: 0) {
      // "100644 blob 9e21128d…\tREADME.md"
      guard let tab = line.firstIndex(of: UInt8(ascii: "\t")) else { continue }
      let words = line[..<tab].split(separator: UInt8(ascii: " "))
      guard words.count == 3 else { continue }
      let file = GitFile(
        mode: String(decoding: words[0], as: UTF8.self), hash: String(decoding: words[2], as: UTF8.self))
      body(GitPath.text(line[(tab + 1)...]), file)
    }
    try checkEnd(process)
  }

  /// - Throws: ``Failure`` if git ended with an error.
  func checkEnd(_ process: ChildProcess) throws {
    let code = process.finish()
    guard code == 0 else {
      throw Failure(.unreadable, "git can't read the repository \(path) (exit \(code)): \(process.errorText)")
    }
  }
}
