import CatalogModel
import Foundation
import TestSupport
import Testing

/// What the program does on a terminal and in shells, if those are installed.
@Suite struct TerminalTests {
  static func has(_ program: String) -> Bool {
    (try? run("sh", ["-c", "command -v \(program)"]).code) == 0
  }

  /// What the program prints on a terminal.
  static func onTerminal(_ line: String, _ environment: [String: String] = [:]) throws -> String {
    let environment = environment.merging(["JOURNAL": journalPath, "TERM": "xterm"]) { $1 }
    let result = try run("timeout", ["600", "script", "-qec", line, "/dev/null"], environment: environment)
    return String(decoding: result.output, as: UTF8.self).replacing("\r\n", with: "\n")
  }

  @Test(.enabled(if: has("script"))) func longResultsGoThroughTheChosenPager() throws {
    try withFixedJournal { path, _ in
      let pager = ["PAGER": "sed s/^/:/", "NO_COLOR": "1"]
      let paged = try Self.onTerminal("\"$JOURNAL\" log \(path)", pager)
      #expect(paged.split(separator: "\n").count == 4)
      #expect(paged.split(separator: "\n").allSatisfy { $0.hasPrefix(":") })
      let plain = paged.replacing("\n:", with: "\n").dropFirst()
      #expect(try Self.onTerminal("\"$JOURNAL\" log --no-pager \(path)", pager) == plain)
      #expect(try Self.onTerminal("\"$JOURNAL\" log \(path)", ["PAGER": "", "NO_COLOR": "1"]) == plain)
      #expect(
        try Self.onTerminal("\"$JOURNAL\" log \(path)", ["PAGER": "no-such-program -x", "NO_COLOR": "1"])
          == plain)
      // Short results are not paged, and output is colored unless that is declined.
      #expect(try !Self.onTerminal("\"$JOURNAL\" stat \(path)", pager).hasPrefix(":"))
      let colored = try Self.onTerminal("\"$JOURNAL\" log \(path)", ["PAGER": "cat", "NO_COLOR": ""])
      #expect(colored.contains("\u{1B}["))
    }
  }

  /// A pager in the background of the terminal was stopped by the system, and the program waited for it for ever.
  @Test(.enabled(if: has("script") && has("less"))) func thePagerControlsTheTerminal() throws {
    try withFixedJournal { path, _ in
      for pager in ["less", "sh -c 'stty sane </dev/tty; cat'"] {
        let shown = try Self.onTerminal(
          "\"$JOURNAL\" log \(path); echo \"code $?\"", ["PAGER": pager, "LESS": "FRX", "NO_COLOR": "1"])
        #expect(shown.contains("first find") && shown.hasSuffix("code 0\n"), "\(pager): \(shown)")
      }
    }
  }

  /// Ctrl-C in a pager ended the program.
  @Test(.enabled(if: has("script"))) func interruptingThePagerDoesNotEndTheProgram() throws {
    try withFixedJournal { path, _ in
      let shown = try Self.onTerminal(
        "trap : INT; \"$JOURNAL\" log \(path); echo \"code $?\"",
        ["PAGER": "sh -c 'trap \"\" INT; kill -INT 0; cat'", "NO_COLOR": "1"])
      #expect(shown.contains("first find") && shown.hasSuffix("code 0\n"), "\(shown)")
    }
  }

  /// A name with a space was completed as two.
  @Test(.enabled(if: has("script"))) func bashCompletesNamesOfFilesWithSpaces() throws {
    try withTemporaryFolder { folder in
      try FileManager.default.createDirectory(
        atPath: folder.path("my books.journal"), withIntermediateDirectories: false)
      let lines =
        "source <(\"$JOURNAL\" completions bash); cd '\(folder.url.path)'\n"
        + "journal() { printf '<%s>' \"$@\"; }\njournal log my\t\nexit\n"
      let result = try run(
        "timeout", ["600", "script", "-qec", "bash --norc --noprofile -i", "/dev/null"],
        input: Data(lines.utf8), environment: ["JOURNAL": journalPath, "TERM": "dumb"])
      let shown = String(decoding: result.output, as: UTF8.self)
      #expect(shown.contains("<log><my books.journal/>"), "\(shown)")
    }
  }

  @Test(.enabled(if: has("fish"))) func fishCompletesVerbsAndOptions() throws {
    let script = """
      "$JOURNAL" completions fish | source
      complete -C "journal bis"; complete -C "journal log --fol"; complete -C "journal help bla"
      """
    let result = try run("fish", ["--no-config", "-c", script], environment: ["JOURNAL": journalPath])
    let lines = String(decoding: result.output, as: UTF8.self).split(separator: "\n")
    #expect(lines.map { $0.prefix { $0 != "\t" } } == ["bisect", "--follow", "blame"])
  }

  @Test(.enabled(if: has("zsh"))) func zshCompletesVerbsAndOptions() throws {
    try withTemporaryFolder { folder in
      let script = """
        "$JOURNAL" completions zsh > "$FOLDER/_journal"
        zmodload zsh/zpty
        zpty shell zsh -f -i
        zpty -w shell "PS1=; fpath=($FOLDER \\$fpath); autoload -Uz compinit; compinit -u -d $FOLDER/dump; echo ready"
        zpty -r -m shell shown "*ready*ready*"
        for line in "journal bis" "journal log --fol" "journal help bla"; do
          zpty -w -n shell "$line"$'\\t\\x01echo \\x05 end\\n'
          zpty -r -m shell shown "*end*"$'\\n'"*end*"
          print -r -- "${(V)shown}"
        done
        zpty -d shell
        """
      let result = try run(
        "timeout", ["300", "zsh", "-f", "-c", script],
        environment: ["JOURNAL": journalPath, "FOLDER": folder.path, "TERM": "dumb"])
      let shown = String(decoding: result.output, as: UTF8.self)
      for completed in ["journal bisect", "journal log --follow", "journal help blame"] {
        #expect(shown.contains(completed), "\(shown)")
      }
    }
  }

  @Test func bashCompletesVerbsAndOptions() throws {
    let script = """
      source <("$JOURNAL" completions bash)
      for words in "journal bis" "journal log --fol" "journal help bla"; do
        COMP_WORDS=($words); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _journal; echo "${COMPREPLY[*]}"
      done
      """
    let result = try run("bash", ["-c", script], environment: ["JOURNAL": journalPath])
    #expect(String(decoding: result.output, as: UTF8.self) == "bisect\n--follow\nblame\n")
  }

  @Test func followingEndsWhenTheOutputIsClosed() throws {
    try withFixedJournal { path, _ in
      let script =
        "timeout 30 \"$0\" log \"$1\" --follow --since 1 --json | head -c 12; echo \"${PIPESTATUS[0]}\""
      let result = try run("bash", ["-c", script, journalPath, path])
      #expect(String(decoding: result.output, as: UTF8.self) == "{\"revision\":0\n")
      #expect(result.error.isEmpty)
    }
  }
}
