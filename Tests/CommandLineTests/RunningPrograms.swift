import Foundation
import TestSupport
import Testing

/// The result of running a program.
struct Outcome: Equatable {
  var code: Int32
  var output: String
  var error: String
}

/// Whether tests can use Python.
let isPythonThere = Programs.python != nil

/// Runs a program to its end. Its outputs go through files, so that neither fills a pipe.
func run(
  _ program: String, _ arguments: [String], input: Data? = nil, environment: [String: String] = [:]
) throws -> (code: Int32, output: Data, error: Data) {
  let folder = FileManager.default.temporaryDirectory.appending(path: "journal-run-\(UUID().uuidString)")
  try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
  defer { try? FileManager.default.removeItem(at: folder) }
  let names = ["input", "output", "error"].map { folder.appending(path: $0) }
  for name in names { try (name == names[0] ? input ?? Data() : Data()).write(to: name) }
  let process = Process()
  process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
  process.arguments = [program] + arguments
  process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
  process.standardInput = try FileHandle(forReadingFrom: names[0])
  process.standardOutput = try FileHandle(forWritingTo: names[1])
  process.standardError = try FileHandle(forWritingTo: names[2])
  try process.run()
  process.waitUntilExit()
  return (process.terminationStatus, try Data(contentsOf: names[1]), try Data(contentsOf: names[2]))
}

/// Where the program under test was built: next to the tests.
var journalPath: String {
  let tests = URL(fileURLWithPath: CommandLine.arguments[0])
  #if os(Linux)
    return tests.deletingLastPathComponent().appending(path: "journal").path
  #else
    return Bundle.allBundles.first { $0.bundlePath.hasSuffix(".xctest") }!.bundleURL
      .deletingLastPathComponent().appending(path: "journal").path
  #endif
}

/// Runs the program under test.
func journal(_ arguments: String..., environment: [String: String] = [:]) throws -> Outcome {
  try journal(arguments, environment: environment)
}

func journal(_ arguments: [String], environment: [String: String] = [:]) throws -> Outcome {
  let result = try run(journalPath, arguments, environment: environment)
  return Outcome(
    code: result.code, output: String(decoding: result.output, as: UTF8.self),
    error: String(decoding: result.error, as: UTF8.self))
}

/// Runs the program under test, and expects an exit code and parts of its output and of its messages.
@discardableResult
func check(
  _ arguments: String..., code: Int32 = 0, prints output: String = "", says message: String = "",
  location: SourceLocation = #_sourceLocation
) throws -> Outcome {
  let outcome = try journal(arguments)
  let isAsExpected =
    outcome.code == code && (output.isEmpty || outcome.output.contains(output))
    && (message.isEmpty || outcome.error.contains(message))
  #expect(isAsExpected, "\(arguments): \(outcome)", sourceLocation: location)
  return outcome
}

/// Runs git without the configuration of the user or the system, and expects it to succeed.
@discardableResult
func git(_ repository: String, _ arguments: String..., input: Data? = nil) throws -> Data {
  let environment = ["GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C"]
  let result = try run("git", ["-C", repository] + arguments, input: input, environment: environment)
  guard result.code == 0 else {
    throw GitFailure(description: "git \(arguments): \(String(decoding: result.error, as: UTF8.self))")
  }
  return result.output
}

struct GitFailure: Error, CustomStringConvertible {
  let description: String
}
