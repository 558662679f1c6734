import Testing

@testable import journal

@Suite struct ArgumentsTests {
  private let syntax = Syntax(
    """
    ONE: the first
    [TWO]: the second
    [-n N]: a number
    [--at T]: a text,
      in two lines
    [--all]: a switch
    """)

  private func parse(_ words: String...) throws -> Arguments {
    try Arguments(words, of: "verb", syntax: syntax)
  }

  private func complaint(_ words: String...) -> String? {
    do {
      _ = try Arguments(words, of: "verb", syntax: syntax)
      return nil
    } catch {
      #expect(error.code == .wrongUse)
      return error.description
    }
  }

  @Test func valuesFollowAfterASpaceOrAnEqualsSign() throws {
    #expect(try parse("a", "--at", "x=y").value("--at") == "x=y")
    #expect(try parse("--at=x=y", "a").value("--at") == "x=y")
    #expect(try parse("--at=", "a").value("--at") == "")
    #expect(try parse("a", "-n", "5").count("-n") == 5)
    #expect(try parse("a", "-n5").count("-n") == 5)
  }

  @Test func aSyntaxSaysWhatIsOptionalAndRepeated() throws {
    #expect(syntax.summary == "ONE [TWO] [-n N] [--at T] [--all]")
    #expect(syntax.options[1].help == "a text, in two lines")
    let other = Syntax(
      "JOURNAL\nFILE…: files\n--to DIR: a folder\n[--where A=B]…: a condition\n[--full], [--json]")
    #expect(other.summary == "JOURNAL FILE… --to DIR [--where A=B] [--full] [--json]")
    func parse(_ words: String...) throws -> Arguments { try Arguments(words, of: "verb", syntax: other) }
    let arguments = try parse("J", "a", "--where", "x=1", "b", "--where=y=2", "--to", "d")
    #expect(arguments.values("FILE") == ["a", "b"] && arguments.values("--where") == ["x=1", "y=2"])
    #expect(throws: Failure(.wrongUse, "--to DIR is missing (a folder); see journal help verb")) {
      try parse("J", "a")
    }
    #expect(throws: Failure.self) { try parse("J", "a", "", "--to", "d") }
  }

  @Test func operandsMayComeBetweenOptions() throws {
    let arguments = try parse("a", "--all", "b", "--at", "c")
    #expect(arguments.operand("ONE") == "a")
    #expect(arguments.value("TWO") == "b")
    #expect(arguments.has("--all"))
    #expect(!arguments.has("-n"))
  }

  @Test func afterTwoDashesNothingIsAnOption() throws {
    #expect(try parse("--", "--all").operand("ONE") == "--all")
    #expect(try parse("-").operand("ONE") == "-")
  }

  @Test func wrongUseIsExplained() throws {
    #expect(complaint("a", "--alll") == "unknown option --alll (did you mean --all?); see journal help verb")
    #expect(complaint("a", "--zzzzzz") == "unknown option --zzzzzz; see journal help verb")
    #expect(complaint("a", "-x") == "unknown option -x (did you mean -n?); see journal help verb")
    #expect(complaint("a", "--at") == "--at needs a value: --at T; see journal help verb")
    #expect(complaint("a", "--all=1") == "--all takes no value; see journal help verb")
    #expect(complaint("a", "--all", "--all") == "--all is given twice; see journal help verb")
    #expect(complaint() == "ONE is missing (the first); see journal help verb")
    #expect(complaint("a", "b", "c") == "there is one argument too many: c; see journal help verb")
    #expect(throws: Failure.self) { try parse("a", "-n", "-1").count("-n") }
    #expect(throws: Failure.self) { try parse("a", "-n", "1e3").count("-n") }
  }

  @Test func helpNeedsNoOperands() throws {
    #expect(try parse("--help").has("--help"))
    #expect(try parse("-h").has("--help"))
  }

  @Test func theDistanceOfWordsCountsASwapOnce() {
    #expect(Suggestion.distance("reverse", "revrese") == 1)
    #expect(Suggestion.distance("log", "") == 3)
    #expect(Suggestion.distance("stat", "verify") == 6)
  }
}
