import CatalogModel
import Foundation
import TestSupport
import Testing

@Suite struct RepositoryTests {
  @Test func aFolderThatIsNoRepositoryIsReported() throws {
    try withTemporaryFolder { folder in
      let outcome = try check("import", folder.path("J.journal"), "git", folder.path, code: 2)
      #expect(outcome.error.hasPrefix("journal: \(folder.path) is not a git repository that can be read: "))
      #expect(!FileManager.default.fileExists(atPath: folder.path("J.journal")))
    }
  }

  @Test func aRepositoryWithoutCommitsIsReported() throws {
    try withTemporaryFolder { folder in
      let repository = try MadeRepository(folder.path("repository"))
      let outcome = try journal("import", folder.path("J.journal"), "git", repository.path)
      #expect(
        outcome
          == Outcome(
            code: 2, output: "", error: "journal: the repository \(repository.path) has no commits yet\n"))
    }
  }

  @Test func anUnknownBranchIsReported() throws {
    try withTemporaryFolder { folder in
      var repository = try MadeRepository(folder.path("repository"))
      repository.commit("one", [.file("a", Data("a"))])
      try repository.write()
      let outcome = try check(
        "import", folder.path("J.journal"), "git", repository.path, "--branch", "-x", code: 2)
      #expect(outcome.error == "journal: the repository \(repository.path) has no branch or commit \"-x\"\n")
    }
  }

  @Test func aMissingGitIsReported() throws {
    try withTemporaryFolder { folder in
      let result = try run(
        "/usr/bin/env",
        ["-S", "PATH=\(folder.path)", journalPath, "import", folder.path("J"), "git", folder.path])
      #expect(result.code == 3)
      #expect(
        String(decoding: result.error, as: UTF8.self)
          == "journal: git can't be started: it is not installed or not in PATH\n")
    }
  }

  @Test func variablesThatPointGitElsewhereAreIgnored() throws {
    try withTemporaryFolder { folder in
      var repository = try MadeRepository(folder.path("repository"))
      repository.commit("one", [.file("a", Data("a"))])
      try repository.write()
      let outcome = try journal(
        "import", folder.path("J.journal"), "git", repository.path,
        environment: ["GIT_DIR": folder.path("nowhere"), "GIT_INDEX_FILE": "/nowhere"])
      #expect(outcome.code == 0)
    }
  }

  /// With literal pathspecs, no commit had the file.
  @Test func variablesThatChangeWhatPathsOrCommitsMeanAreIgnored() throws {
    try withTemporaryFolder { folder in
      var repository = try MadeRepository(folder.path("repository"))
      for number in 1...3 {
        repository.commit("\(number)", [.file("[a]*.json", Data("[{\"id\":1,\"n\":\(number)}]"))])
      }
      try repository.write()
      let identity = ["-c", "user.name=Ana", "-c", "user.email=ana@example.com"]
      let replaced = try run(
        "git", ["-C", repository.path] + identity + ["replace", "--graft", "HEAD"],
        environment: ["GIT_REPLACE_REF_BASE": "refs/others/"])
      #expect(replaced.code == 0)
      let names = [
        "LITERAL_PATHSPECS", "ICASE_PATHSPECS", "GLOB_PATHSPECS", "NOGLOB_PATHSPECS", "REPLACE_REF_BASE",
        "SHALLOW_FILE", "ALTERNATE_OBJECT_DIRECTORIES", "EXTERNAL_DIFF", "DIFF_OPTS", "TRACE", "ATTR_SOURCE",
        "WHAT_A_LATER_VERSION_HAS",
      ]
      for (number, name) in names.enumerated() {
        let value =
          name == "REPLACE_REF_BASE" ? "refs/others/" : name.hasSuffix("PATHSPECS") ? "1" : "/nowhere"
        let path = folder.path("\(number).journal")
        let outcome = try journal(
          "import", path, "git", repository.path, "--records", "[a]*.json", "--key", "id",
          environment: ["GIT_\(name)": value])
        #expect(outcome.code == 0 && outcome.error == "", "\(name): \(outcome)")
        #expect(outcome.output.hasPrefix("imported 3 commits "), "\(name): \(outcome)")
      }
    }
  }

  @Test func aUsersConfigurationChangesNothing() throws {
    try withTemporaryFolder { folder in
      var repository = try MadeRepository(folder.path("repository"))
      repository.commit("one", [.file("b/c", Data("a")), .file("a", Data("x"))])
      repository.commit("two", [.delete("a"), .file("z", Data("x"))])
      try repository.write()
      for (name, value) in [
        ("log.showSignature", "true"), ("diff.renames", "copies"), ("diff.relative", "true"),
        ("color.ui", "always"), ("log.showRoot", "false"), ("diff.noprefix", "true"),
        ("log.date", "relative"),
        ("diff.orderFile", "/nowhere"), ("core.quotePath", "true"), ("format.pretty", "oneline"),
        ("diff.ignoreSubmodules", "all"), ("log.diffMerges", "off"), ("core.abbrev", "5"),
      ] {
        try git(repository.path, "config", name, value)
      }
      #expect(try journal("import", folder.path("J.journal"), "git", repository.path).code == 0)
      let opened = try CatalogJournal.open(at: URL(fileURLWithPath: folder.path("J.journal")))
      let oracle = GitOracle(path: repository.path)
      for (commit, revision) in try revisions(of: opened, oracle) {
        try expectFiles(opened.state(asOf: .revision(revision)), opened.blobs, equal: commit, oracle)
      }
      #expect(opened.head.revision == 2)
    }
  }

  @Test func aShallowCloneIsRefusedUntilItHasAllCommits() throws {
    try withTemporaryFolder { folder in
      var repository = try MadeRepository(folder.path("repository"))
      for text in ["one", "two", "three"] { repository.commit(text, [.file("a", Data(text))]) }
      try repository.write()
      let clone = folder.path("clone")
      try git(folder.path, "clone", "-q", "--depth", "1", "file://\(repository.path)", clone)
      let outcome = try check("import", folder.path("J.journal"), "git", clone, code: 2)
      #expect(outcome.error.contains("is a shallow clone") && outcome.error.contains("git fetch --unshallow"))
      #expect(!FileManager.default.fileExists(atPath: folder.path("J.journal")))
      try git(clone, "fetch", "-q", "--unshallow")
      #expect(try journal("import", folder.path("J.journal"), "git", clone).code == 0)
      #expect(try CatalogJournal.open(at: URL(fileURLWithPath: folder.path("J.journal"))).head.revision == 3)
    }
  }

  /// It was refused although nothing was missing.
  @Test func aShallowCloneContinuesAnImportWhoseNewestCommitItHas() throws {
    try withTemporaryFolder { folder in
      var repository = try MadeRepository(folder.path("repository"))
      for text in ["one", "two"] { repository.commit(text, [.file("a", Data(text))]) }
      try repository.write()
      #expect(try journal("import", folder.path("J.journal"), "git", repository.path).code == 0)
      func addCommit(_ text: String) throws {
        repository.commit(text, [.file("a", Data(text))])
        try repository.write()
      }
      func importClone(_ name: String, depth: String) throws -> Outcome {
        let clone = folder.path(name)
        try git(folder.path, "clone", "-q", "--depth", depth, "file://\(repository.path)", clone)
        return try journal("import", folder.path("J.journal"), "git", clone)
      }
      try addCommit("three")
      #expect(try importClone("a", depth: "2").code == 0)
      try addCommit("four")
      try addCommit("five")
      let refused = try importClone("b", depth: "2")
      #expect(refused.code == 2 && refused.error.contains("is a shallow clone"))
      #expect(try importClone("c", depth: "3").code == 0)
      let opened = try CatalogJournal.open(at: URL(fileURLWithPath: folder.path("J.journal")))
      #expect(opened.head.revision == 5)
    }
  }

  @Test func theConfigurationOfARepositoryRunsNoCommands() throws {
    try withTemporaryFolder { folder in
      var repository = try MadeRepository(folder.path("repository"))
      repository.commit("one", [.file("a", Data("a")), .file(".gitattributes", Data("* diff=x"))])
      repository.commit("two", [.file("a", Data("b"))])
      try repository.write()
      let hash = String(decoding: try git(repository.path, "rev-parse", "HEAD:a"), as: UTF8.self)
        .trimmingCharacters(in: .newlines)
      let marker = folder.path("ran")
      let script = folder.path("script")
      try Data("#!/bin/sh\ntouch '\(marker)'\nexit 1\n").write(to: URL(fileURLWithPath: script))
      try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: script)
      for (name, value) in [
        ("core.repositoryFormatVersion", "1"), ("extensions.partialClone", "origin"),
        ("remote.origin.promisor", "true"), ("remote.origin.url", "ssh://localhost/x"),
        ("core.sshCommand", script), ("core.fsmonitor", script), ("core.pager", script),
        ("diff.external", script), ("diff.x.textconv", script), ("diff.x.command", script),
        ("log.showSignature", "true"), ("gpg.program", script), ("core.askPass", script),
      ] {
        try git(repository.path, "config", name, value)
      }
      #expect(try journal("import", folder.path("A.journal"), "git", repository.path).code == 0)
      #expect(!FileManager.default.fileExists(atPath: marker))

      // Git fetches a missing object from the remote.
      try FileManager.default.removeItem(
        atPath: "\(repository.path)/.git/objects/\(hash.prefix(2))/\(hash.dropFirst(2))")
      #expect(throws: GitFailure.self) { try git(repository.path, "cat-file", "blob", hash) }
      #expect(FileManager.default.fileExists(atPath: marker), "the command is one that git would run")
      try? FileManager.default.removeItem(atPath: marker)

      let outcome = try check("import", folder.path("B.journal"), "git", repository.path, code: 3)
      #expect(outcome.error.contains("git has no content \(hash)"))
      #expect(!FileManager.default.fileExists(atPath: marker))
    }
  }

  @Test func replacedCommitsAndGraftsHideNothing() throws {
    try withTemporaryFolder { folder in
      var repository = try MadeRepository(folder.path("Ana's repository"))
      for text in ["one", "two", "three"] { repository.commit(text, [.file("a", Data(text))]) }
      try repository.write()
      let tip = try git(repository.path, "rev-parse", "HEAD")
      try git(
        repository.path, "-c", "user.name=Ana", "-c", "user.email=ana@example.com", "replace", "--graft",
        "HEAD")
      let replaced = try journal("import", folder.path("A.journal"), "git", repository.path)
      #expect(replaced.code == 0 && replaced.error.hasPrefix("1 replacement not applied: "), "\(replaced)")
      #expect(try CatalogJournal.open(at: URL(fileURLWithPath: folder.path("A.journal"))).head.revision == 3)
      let command = try #require(replaced.error.firstMatch(of: /import it: (git init .*)\n/)).output.1
      let shell = Process()
      shell.executableURL = URL(fileURLWithPath: "/bin/sh")
      shell.arguments = ["-c", "\(command) --quiet"]
      shell.currentDirectoryURL = folder.url
      try shell.run()
      shell.waitUntilExit()
      let applied = try journal("import", folder.path("C.journal"), "git", folder.path("NEW"))
      #expect(applied.code == 0 && applied.error == "", "\(applied)")
      #expect(applied.output.hasPrefix("imported 1 commit "), "\(applied)")

      let hash = String(decoding: tip, as: UTF8.self).trimmingCharacters(in: .newlines)
      try git(repository.path, "replace", "-d", hash)
      let info = "\(repository.path)/.git/info"
      try FileManager.default.createDirectory(atPath: info, withIntermediateDirectories: true)
      try tip.write(to: URL(fileURLWithPath: "\(info)/grafts"))
      let grafted = try journal("import", folder.path("B.journal"), "git", repository.path)
      #expect(grafted.code == 0 && grafted.error.hasPrefix("1 graft not applied: "), "\(grafted)")
      #expect(try CatalogJournal.open(at: URL(fileURLWithPath: folder.path("B.journal"))).head.revision == 3)
    }
  }
}
