import Foundation

/// Runs a program and returns what it prints.
/// - Parameters:
///   - program: the program's file.
///   - codes: the exit codes that mean success.
/// - Throws: ``PeerFailure`` for another exit code.
@discardableResult
func output(of program: URL, _ arguments: [String], codes: Set<Int32> = [0]) throws -> Data {
  let process = Process()
  process.executableURL = program
  process.arguments = arguments
  let output = Pipe()
  process.standardOutput = output
  process.standardError = FileHandle.nullDevice
  try process.run()
  let bytes = try output.fileHandleForReading.readToEnd() ?? Data()
  process.waitUntilExit()
  guard codes.contains(process.terminationStatus) else {
    throw PeerFailure(
      description: "\(program.lastPathComponent) \(arguments.joined(separator: " ")) exited with "
        + "\(process.terminationStatus).")
  }
  return bytes
}

/// The same for a program that is found in `PATH` by its name.
@discardableResult
func output(of name: String, _ arguments: [String]) throws -> Data {
  try output(of: URL(filePath: "/usr/bin/env"), [name] + arguments)
}
