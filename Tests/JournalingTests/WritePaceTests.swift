import Testing

@testable import Journaling

/// Layers leave the drive to commits, but keep up with them.
@Suite struct WritePaceTests {
  /// How often a pause sleeps.
  private func sleeps(_ pace: WritePace, isBehind: Bool = false, at milliseconds: Int) -> Int {
    var count = 0
    pace.pause(isBehind: isBehind, at: milliseconds) { seconds in
      #expect(seconds > 0 && seconds < 0.01)
      count += 1
    }
    return count
  }

  @Test func thereIsAPauseWhileThereAreCommitsUnlessLayersAreBehind() {
    let pace = WritePace()
    #expect(sleeps(pace, at: 1) == 0)
    pace.noteCommit(at: 1_000)
    #expect(sleeps(pace, at: 1_001) == 1)
    #expect(sleeps(pace, isBehind: true, at: 1_001) == 0)
    #expect(sleeps(pace, at: 2_000) == 0)
  }

  @Test func theDriveGetsSmallerPiecesDuringCommitsUnlessLayersAreBehind() {
    let pace = WritePace()
    let idle = pace.pieceByteCount(isBehind: false, at: 1_000)
    pace.noteCommit(at: 1_000)
    #expect(pace.pieceByteCount(isBehind: false, at: 1_001) < idle)
    #expect(pace.pieceByteCount(isBehind: true, at: 1_001) > idle)
    #expect(pace.pieceByteCount(isBehind: false, at: 2_000) == idle)
  }
}
