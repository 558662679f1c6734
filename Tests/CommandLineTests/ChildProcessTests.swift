import TestSupport
import Testing

@testable import journal

@Suite struct ChildProcessTests {
  /// Each kept a file and two pipes open.
  @Test func programsThatCannotBeStartedLeaveNothingOpen() throws {
    let count = 300
    let before = try openFilePaths().count
    for _ in 1...count {
      #expect(throws: Failure.self) { try ChildProcess("no such program", [], environment: [:]) }
    }
    // Other tests open files at the same time.
    #expect(try openFilePaths().count < before + count)
  }

  /// The second answer was 0, which is success.
  @Test func theExitCodeStaysTheSame() throws {
    let process = try ChildProcess("false", [], environment: [:])
    #expect(process.finish() == 1)
    #expect(process.finish() == 1)
  }
}
