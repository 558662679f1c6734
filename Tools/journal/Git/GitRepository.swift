import Foundation

struct GitRepository {
  let path: String

  /// - Throws: ``Failure`` if there is no repository at the path, or git is missing.
  init(_ path: String) throws {
    self.path = path
    guard FileManager.default.fileExists(atPath: path) else {
      throw Failure.wrongUse("there is no folder \(path)")
    }
    let answer = try run(["rev-parse", "--git-dir"])
    guard answer.code == 0 else {
      throw Failure.wrongUse("\(path) is not a git repository that can be read: \(answer.complaint)")
    }
  }

  /// Starts git in the repository. Environment variables of git can name another repository (as in a hook), or change
  /// what paths and commits mean. So only variables that locate git's programs, configuration and repositories are
  /// passed on.
  func start(_ arguments: [String]) throws -> ChildProcess {
    var environment = ProcessInfo.processInfo.environment.filter { name, _ in
      !name.hasPrefix("GIT_") || Self.passedOn.contains { name.hasPrefix($0) }
    }
    environment.merge(Self.safe) { $1 }
    return try ChildProcess("git", ["-C", path] + arguments, environment: environment)
  }

  private static let passedOn = [
    "GIT_CONFIG", "GIT_EXEC_PATH", "GIT_CEILING_DIRECTORIES", "GIT_DISCOVERY_ACROSS_FILESYSTEM",
  ]

  /// Variables that make it safe to read a repository whose configuration may come from anyone. For a missing object,
  /// git would run commands that the configuration names for a remote. Nothing else can run, because neither the index
  /// nor a working tree is read. Replaced objects and grafts, which would hide history, are ignored.
  private static let safe = [
    "LC_ALL": "C", "GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": "", "GIT_NO_REPLACE_OBJECTS": "1",
    // No file has this path. Git would warn about an empty file.
    "GIT_GRAFT_FILE": "/dev/null/none",
  ]

  private func run(_ arguments: [String]) throws -> (text: String, code: Int32, complaint: String) {
    let process = try start(arguments)
    let text = String(decoding: try process.readToEnd(), as: UTF8.self)
    let code = process.finish()
    return (text.trimmingCharacters(in: .newlines), code, process.errorText)
  }

  /// Reads the output of git until `body` returns false.
  private func forEachLine(
    of arguments: [String], endingWith end: UInt8 = UInt8(ascii: "\n"),
    _ body: (ArraySlice<UInt8>) throws -> Bool
  ) throws {
    let process = try start(arguments)
    while let line = try process.read(upTo: end) {
      if try !body(line) { return }
    }
    try checkEnd(process)
  }

  /// - Throws: ``Failure`` if the clone is shallow, because no later import could add the commits that it lacks.
  func checkIsWhole() throws {
    guard try run(["rev-parse", "--is-shallow-repository"]).text == "true" else { return }
    throw Failure.wrongUse(
      "\(path.printable) is a shallow clone, which lacks the older commits; fetch them first with "
        + "git fetch --unshallow")
  }

  /// The commit of a branch, or of any other revision that git knows.
  /// - Throws: ``Failure`` if there is no such commit.
  func tip(of branch: String) throws -> String {
    let answer = try run(["rev-parse", "--verify", "--end-of-options", branch + "^{commit}"])
    if answer.code == 0 { return answer.text }
    if try run(["rev-list", "-n", "1", "--all"]).text.isEmpty {
      throw Failure.wrongUse("the repository \(path) has no commits yet")
    }
    throw Failure.wrongUse("the repository \(path) has no branch or commit \"\(branch)\"")
  }

  /// The branch that a revision of git names; nil if it names anything else.
  func branch(_ name: String) throws -> String? {
    let full = try run(["rev-parse", "--verify", "--symbolic-full-name", "--end-of-options", name]).text
    let prefix = "refs/heads/"
    return full.hasPrefix(prefix) ? String(full.dropFirst(prefix.count)) : nil
  }

  /// The commits on the first-parent line of a tip that change a file, newest first.
  func commits(changing file: String, upTo tip: String, limit: Int? = nil) throws -> [String] {
    var commits: [String] = []
    let limit = limit.map { ["-n", "\($0)"] } ?? []
    try forEachLine(of: ["rev-list", "--first-parent"] + limit + [tip, "--", Self.only(file)]) { line in
      commits.append(String(decoding: line, as: UTF8.self))
      return true
    }
    return commits
  }

  /// The last version of a file that was deleted before `commit` added it again; nil if the file is new in that commit.
  func lastVersion(of path: String, before commit: String) throws -> GitFile? {
    guard let deletion = try commits(changing: path, upTo: commit, limit: 2).dropFirst().first else {
      return nil
    }
    var version: GitFile?
    try files(at: deletion + "^", only: path) { version = $1 }
    return version
  }

  /// A pathspec that matches only this path.
  private static func only(_ file: String) -> String { ":(top,literal)" + file }

  /// A commit's date. The commit itself is read if git has printed nothing, as for a date that it can't print.
  func date(_ printed: String, _ role: String, of commit: String) throws -> GitDate {
    if !printed.isEmpty { return GitDate(printed) }
    // "committer Ana <ana@example.com> -86400 +0100"
    let header = try run(["cat-file", "commit", commit]).text.utf8.split(
      separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false
    ).prefix { !$0.isEmpty }
    guard let line = header.first(where: { $0.starts(with: "\(role) ".utf8) }),
      let end = line.lastIndex(of: UInt8(ascii: ">"))
    else { return GitDate("") }
    return GitDate(
      String(decoding: line[end...].dropFirst(), as: UTF8.self).trimmingCharacters(in: .whitespaces))
  }

  /// The committers' dates of the commits on a tip's first-parent line after `start`, or of all if it is nil, newest
  /// first. Nil if `start` is not on the line.
  func committerDates(to tip: String, after start: String?) throws -> [GitDate]? {
    var dates: [GitDate] = []
    var hash = ""
    try forEachLine(of: ["rev-list", "--first-parent", "--format=:%ct", tip]) { line in
      // "commit 9e21128d…", then ":1600000000"
      let text = String(decoding: line, as: UTF8.self)
      if text.hasPrefix(":") {
        dates.append(try date(String(text.dropFirst()), "committer", of: hash))
      } else {
        hash = String(text.dropFirst("commit ".count))
      }
      return hash != start
    }
    return start == nil || hash == start ? dates : nil
  }

  /// `1 replacement and 2 grafts not applied`; nil if the repository has neither.
  func replacements() throws -> String? {
    let objects = try run(["for-each-ref", "--format=:", "refs/replace/"]).text.utf8.count { $0 == 58 }
    let folder = try run(["rev-parse", "--git-common-dir"]).text
    let url = URL(filePath: folder, relativeTo: URL(filePath: path, directoryHint: .isDirectory))
    let grafts = (try? Data(contentsOf: url.appending(path: "info/grafts"))) ?? Data()
    let lines = grafts.split(separator: UInt8(ascii: "\n")).count { $0.first != UInt8(ascii: "#") }
    let parts = [(objects, "replacement"), (lines, "graft")].filter { $0.0 > 0 }
    return parts.isEmpty ? nil : parts.map { $0.0.counted($0.1) }.joined(separator: " and ") + " not applied"
  }

  func files(
    at commit: String, only file: String? = nil, _ body: (_ path: String, _ file: GitFile) -> Void
  ) throws {
    let only = file.map { ["--", Self.only($0)] } ?? []
    try forEachLine(of: ["ls-tree", "-r", "-z", "--full-tree", commit] + only, endingWith: 0) { line in
      // "100644 blob 9e21128d…\tREADME.md"
      guard let tab = line.firstIndex(of: UInt8(ascii: "\t")) else { return true }
      let words = line[..<tab].split(separator: UInt8(ascii: " "))
      if words.count == 3 {
        body(GitPath.text(line[(tab + 1)...]), GitFile(mode: words[0], hash: words[2]))
      }
      return true
    }
  }

  func checkEnd(_ process: ChildProcess) throws {
    let code = process.finish()
    guard code == 0 else {
      throw Failure.unreadable("git can't read the repository \(path) (exit \(code)): \(process.errorText)")
    }
  }
}
