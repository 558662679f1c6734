import CatalogModel
import Foundation
import Journaling
import TestSupport
import Testing

/// `journal view` and `journal serve` as people start them.
@Suite struct ViewVerbTests {
  /// Starts a verb, gives its first line to `body`, and interrupts it.
  /// - Parameters:
  ///   - preparation: what a shell does first, such as setting a limit.
  ///   - complaint: what the verb says on standard error before `body` is called.
  /// - Returns: its exit code and what it said on standard error.
  private func serving(
    _ folder: URL, _ words: [String], environment: [String: String] = [:], after preparation: String? = nil,
    awaiting complaint: String? = nil, _ body: (String) throws -> Void
  ) throws -> (code: Int32, error: String) {
    let names = ["output-\(UUID())", "error-\(UUID())"].map { folder.appending(path: $0) }
    for name in names { try Data().write(to: name) }
    let process = Process()
    process.executableURL = URL(filePath: preparation == nil ? journalPath : "/bin/bash")
    process.arguments =
      preparation.map { ["-c", "\($0); exec \"$0\" \"$@\"", journalPath] + words } ?? words
    process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    process.standardOutput = try FileHandle(forWritingTo: names[0])
    process.standardError = try FileHandle(forWritingTo: names[1])
    try process.run()
    let end = Date() + 300
    var line = ""
    while !line.hasSuffix("\n"), process.isRunning, Date() < end {
      usleep(10_000)
      line = try String(contentsOf: names[0], encoding: .utf8)
    }
    #expect(line.hasSuffix("\n"), "the verb printed no address")
    if let complaint {
      let end = Date() + 120
      while try !String(contentsOf: names[1], encoding: .utf8).contains(complaint), process.isRunning,
        Date() < end
      {
        usleep(10_000)
      }
    }
    if line.hasSuffix("\n") { try body(line.trimmingCharacters(in: .newlines)) }
    // Tests may run on threads that block other signals, which the process inherits.
    if process.isRunning { kill(process.processIdentifier, SIGTERM) }
    let stopped = Date() + 120
    while process.isRunning, Date() < stopped { usleep(10_000) }
    if process.isRunning { kill(process.processIdentifier, SIGKILL) }
    process.waitUntilExit()
    return (process.terminationStatus, try String(contentsOf: names[1], encoding: .utf8))
  }

  /// What the verbs that ``serving(_:_:environment:after:_:)`` has run said so far.
  private func errors(in folder: URL) throws -> String {
    try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.hasPrefix("error-") }
      .map { try String(contentsOf: folder.appending(path: $0), encoding: .utf8) }.joined()
  }

  private func curl(_ words: String...) throws -> String {
    let result = try run("curl", ["-s"] + words)
    return String(decoding: result.output, as: UTF8.self)
  }

  @Test func viewShowsAJournalThatAnAppHasOpen() throws {
    try withTemporaryFolder { folder in
      let path = folder.path("Shop.journal")
      let app = try CatalogJournal.create(at: URL(filePath: path))
      try app.commit(by: "till") { _ = try $0.addItem(kind: "order", attributes: ["title": "2 × Dune"]) }
      let outcome = try serving(folder.url, ["view", path, "--no-browser"]) { (line) throws in
        #expect(line.wholeMatch(of: /http:\/\/127\.0\.0\.1:[0-9]+\/\?token=[0-9a-f]{64}/) != nil)
        let jar = folder.path("cookies")
        #expect(try curl("-c", jar, line).contains("<title>Journal</title>"))
        let api = String(line.prefix { $0 != "?" }) + "api/journal"
        #expect(try curl("-b", jar, api).contains("\"revision\":1,"))
        try app.commit(by: "till") { try $0.updateItem(1, set: ["paid": true]) }
        let end = Date() + 300
        while try !curl("-b", jar, api).contains("\"revision\":2,"), Date() < end {}
        #expect(try curl("-b", jar, api).contains("\"revision\":2,"))
        #expect(try curl(line).contains("was used already"))
      }
      #expect(outcome.error.contains("serving until it is interrupted"))
      // Two processes can't write.
      let second = try check("view", path, "--edit", "--no-browser", code: 3)
      #expect(second.error.contains("another process has the journal open for writing"))
      try app.close()
    }
  }

  @Test func viewShowedItsTokenToAllUsersAndNowOpensAPrivateFile() throws {
    try withFixedJournal { path, folder in
      let (opened, program, temporary) = (folder.path("opened"), folder.path("xdg-open"), folder.path("tmp"))
      func write(_ script: String) throws {
        try "#!/bin/sh\necho \"$@\" > '\(opened).part'; mv '\(opened).part' '\(opened)'\n\(script)\n".write(
          toFile: program, atomically: false, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: program)
        try? FileManager.default.removeItem(atPath: opened)
      }
      try FileManager.default.createDirectory(atPath: temporary, withIntermediateDirectories: false)
      func filesLeft() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: temporary) }
      let programs = ProcessInfo.processInfo.environment["PATH"] ?? ""
      let environment = ["PATH": "\(folder.url.path):\(programs)", "TMPDIR": temporary]
      func waitForOpening() {
        let end = Date() + 300
        while !FileManager.default.fileExists(atPath: opened), Date() < end { usleep(20_000) }
      }
      try write("exit 0")
      var outcome = try serving(folder.url, ["view", path], environment: environment) { (line) throws in
        waitForOpening()
        let argument = try String(contentsOfFile: opened, encoding: .utf8).trimmingCharacters(in: .newlines)
        let url = try #require(URL(string: argument))
        #expect(url.isFileURL && !argument.contains("token") && !argument.contains("127.0.0.1"))
        for (path, mode) in [(url.path, 0o600), (url.deletingLastPathComponent().path, 0o700)] {
          let attributes = try FileManager.default.attributesOfItem(atPath: path)
          #expect(attributes[.posixPermissions] as? Int == mode)
        }
        #expect(try String(contentsOf: url, encoding: .utf8).contains("url=\(line)\""))
        // The address that the browser opens shows the page.
        #expect(try curl(line).contains("<title>Journal</title>"))
      }
      #expect(outcome.code == 0 && !outcome.error.contains("no browser"))
      #expect(try filesLeft() == [])
      // Some systems run the browser until it is closed. An interruption ends the verb nevertheless.
      // This one keeps no descriptors of the verb, which Foundation would take for running otherwise.
      try write(
        """
        exec bash -c 'for f in /proc/self/fd/*; do n=${f##*/}; ((n > 2)) && eval "exec $n>&-"; done; sleep 60'
        """)
      outcome = try serving(folder.url, ["view", path], environment: environment) { (line) throws in
        waitForOpening()
        #expect(try filesLeft().count == 1)
        #expect(try curl(line).contains("<title>Journal</title>"))
      }
      #expect(outcome.code == 0)
      #expect(try filesLeft() == [])
      // If no browser can be opened, the verb says so, and still serves the page.
      try write("exit 3")
      outcome = try serving(
        folder.url, ["view", path], environment: environment, awaiting: "no browser"
      ) { (line) throws in
        #expect(try curl(line).contains("<title>Journal</title>"))
      }
      #expect(outcome.error.contains("no browser could be opened; open the address yourself"))
      #expect(try filesLeft() == [])
    }
  }

  /// A browser for terminals ran in the background of the terminal, where the system stopped it for ever.
  @Test(.enabled(if: TerminalTests.has("script"))) func aBrowserForTerminalsDoesNotGetTheTerminalOfView()
    throws
  {
    try withFixedJournal { path, folder in
      let (opened, program) = (folder.path("opened"), folder.path("xdg-open"))
      try """
      #!/bin/sh
      if stty sane </dev/tty; then result=terminal; else result=none; fi
      ps -o sid= -p $$ >'\(opened).part'; echo $result >>'\(opened).part'; mv '\(opened).part' '\(opened)'
      exit 3
      """.write(toFile: program, atomically: false, encoding: .utf8)
      try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: program)
      let (message, errors) = ("no browser could be opened", folder.path("errors"))
      let line = """
        "$JOURNAL" view '\(path)' 2>'\(errors)' & view=$!
        turn=0
        while [ $turn -lt 600 ] && ! grep -q '\(message)' '\(errors)' 2>/dev/null; do
          sleep 0.5; turn=$((turn + 1))
        done
        kill $view; wait $view; code=$?; cat '\(errors)'; echo "code $code"
        """
      let shown = try TerminalTests.onTerminal(
        line, ["PATH": "\(folder.url.path):\(ProcessInfo.processInfo.environment["PATH"] ?? "")"])
      #expect(shown.contains("http://127.0.0.1:") && shown.hasSuffix("code 0\n"), "\(shown)")
      #expect(shown.contains(message), "\(shown)")
      #expect(try String(contentsOfFile: opened, encoding: .utf8).hasSuffix("none\n"))
    }
  }

  @Test func viewShowsWhatIsLeftOfADamagedJournal() throws {
    try withLargeJournal { path in
      try damageAnOldEntry(of: path)
      #expect(try journal("serve", path).code == 3)
      let folder = URL(filePath: path).deletingLastPathComponent()
      let outcome = try serving(folder, ["view", path, "--edit", "--no-browser"]) { (line) throws in
        let jar = folder.appending(path: "cookies").path
        #expect(try curl("-c", jar, line).contains("<title>Journal</title>"))
        let facts = try curl("-b", jar, String(line.prefix { $0 != "?" }) + "api/journal")
        #expect(facts.contains("\"endsAtDamage\":true"))
        #expect(facts.contains("\"editable\":false"))
        #expect(facts.contains("journal salvage"))
        #expect(!facts.contains(path))
      }
      #expect(outcome.code == 3)
      #expect(outcome.error.contains("revision "))
    }
  }

  @Test func viewSaysWhyItDoesNotShowAJournalOfAnotherModel() throws {
    try withTemporaryFolder { folder in
      let path = folder.path("Bank.journal")
      try Journal<Bank>.create(at: URL(filePath: path)).close()
      let outcome = try journal("view", path, "--no-browser")
      #expect(outcome.code == 3 && outcome.output.isEmpty)
      #expect(outcome.error.contains("bank/3") && outcome.error.contains("catalog/2"), "\(outcome.error)")
    }
  }

  /// A server that `nohup` had started ended with its terminal.
  @Test func serveIgnoresTheSignalsThatItWasStartedToIgnore() throws {
    try withFixedJournal { path, folder in
      let script = """
        trap '' HUP
        "$0" serve "$1" >"$2" & server=$!
        for turn in $(seq 600); do [ -s "$2" ] && break; sleep 0.1; done
        sleep 0.5; kill -HUP $server; sleep 0.5; kill -0 $server && echo alive
        kill $server; wait $server; echo $?
        """
      let result = try run("bash", ["-c", script, journalPath, path, folder.path("address")])
      #expect(String(decoding: result.output, as: UTF8.self) == "alive\n0\n")
    }
  }

  /// It printed nothing, reported no problem, and told its clients to open the journal again.
  @Test func serveSaysWhyItTakesNoMoreCommits() throws {
    try withFixedJournal { path, folder in
      let tokens = folder.path("tokens")
      try "a-token-of-the-file\n".write(toFile: tokens, atomically: true, encoding: .utf8)
      let title = String(repeating: "x", count: 200_000)
      let event =
        #"{"operation":"update","entity":"item:1","changes":{"attributes":{"title":"\#(title)"}}}"#
      try "{\"events\":[\(event)]}".write(toFile: folder.path("body"), atomically: true, encoding: .utf8)
      // No file may have more than 64 KiB, as if the disk were full.
      let cause = "the file would be larger than this process or the file system allows"
      let outcome = try serving(
        folder.url, ["serve", path, "--edit", "--token-file", tokens], after: "trap '' XFSZ; ulimit -f 64"
      ) { (line) throws in
        let token = "Authorization: Bearer a-token-of-the-file"
        func commit() throws -> String {
          try curl(line + "api/commits", "-H", token, "--json", "@" + folder.path("body"))
        }
        let first = try commit()
        #expect(first.contains("\"outcomeUnknown\"") && first.contains("and then shows which"), "\(first)")
        let second = try commit()
        #expect(second.contains("\"poisoned\""), "\(second)")
        let facts = try curl(line + "api/journal", "-H", token)
        #expect(facts.contains("\"editable\":false"), "\(facts)")
        #expect(facts.contains("\"problem\":{\"code\":\"poisoned\""), "\(facts)")
        for text in [first, second, facts] {
          #expect(text.contains("its server must be started again"), "\(text)")
          #expect(text.contains("; the cause: ") && text.contains(cause), "\(text)")
          #expect(!text.contains(path), "\(text)")
        }
      }
      #expect(outcome.error.components(separatedBy: "takes no more commits").count == 2, "\(outcome.error)")
      #expect(outcome.error.contains(cause), "\(outcome.error)")
    }
  }

  @Test func serveAcceptsTheTokensInAFile() throws {
    try withFixedJournal { path, folder in
      let tokens = folder.path("tokens")
      try "first-token-of-the-file\n\n second-token-of-the-file\n".write(
        toFile: tokens, atomically: true, encoding: .utf8)
      try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: tokens)
      // The permissions of a link say nothing about the file.
      let link = folder.path("link")
      try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: tokens)
      let outcome = try serving(folder.url, ["serve", path, "--edit", "--by", "zoe", "--token-file", link]) {
        (line) throws in
        #expect(line.wholeMatch(of: /http:\/\/127\.0\.0\.1:[0-9]+\//) != nil)
        let body = "{\"events\":[{\"operation\":\"delete\",\"entity\":\"item:1\"}]}"
        let token = "Authorization: Bearer second-token-of-the-file"
        #expect(try curl(line + "api/commits", "--json", body).contains("\"unauthorized\""))
        #expect(try curl(line + "api/commits", "-H", token, "--json", body).contains("\"author\":\"zoe\""))
      }
      #expect(!outcome.error.contains("chmod"))
      #expect(try journal("log", path, "-n", "1").output.contains("zoe"))
      let short = folder.path("short")
      try "short\n".write(toFile: short, atomically: true, encoding: .utf8)
      let refused = try check("serve", path, "--token-file", short, code: 2)
      #expect(refused.error.contains("at least 16 characters"))
      #expect(try journal("serve", path, "--port", "70000").code == 2)
      let nameless = try journal("serve", path, "--host", "")
      #expect(nameless.code == 2 && nameless.error.contains("is not a host name"), "\(nameless.error)")
      #expect(try journal("view", folder.path("None.journal"), "--no-browser").code == 3)
    }
  }
}
