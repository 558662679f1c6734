import Testing

@testable import journal

@Suite struct ArgumentsTests {
  private let syntax = Syntax(
    operands: [
      Syntax.Operand(name: "ONE", help: "the first"),
      Syntax.Operand(name: "TWO", help: "the second", isOptional: true),
    ],
    options: [
      Syntax.Option(name: "-n", value: "N", help: ""), Syntax.Option(name: "--at", value: "T", help: ""),
      Syntax.Option(name: "--all", help: ""),
    ])

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

  @Test func operandsMayComeBetweenOptions() throws {
    let arguments = try parse("a", "--all", "b", "--at", "c")
    #expect(arguments.operand("ONE") == "a")
    #expect(arguments.optionalOperand("TWO") == "b")
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
