import Testing

@testable import Journaling

/// Layers leave the drive to commits, but keep up with them.
@Suite struct WritePaceTests {
  private static let pieceByteCount = 32 << 10

  /// How often a pause after a piece sleeps while a commit of so many bytes comes each time.
  private func sleeps(_ pace: WritePace, committing byteCount: Int = 0, at milliseconds: Int) -> Int {
    var count = 0
    pace.pause(afterWriting: Self.pieceByteCount, at: milliseconds) { _ in
      count += 1
      if byteCount > 0 { pace.note(committed: byteCount, at: milliseconds) }
    }
    return count
  }

  @Test func thereIsNoPauseWithoutCommits() {
    let pace = WritePace()
    #expect(sleeps(pace, at: 1) == 0)
    pace.note(committed: 300, at: 1_000)
    #expect(sleeps(pace, at: 1_001) > 0)
    #expect(sleeps(pace, at: 2_000) == 0)
  }

  @Test func aPauseIsAsLongAsCommitsAreSmall() {
    let pace = WritePace()
    pace.note(committed: 300, at: 1_000)
    let longest = sleeps(pace, at: 1_000)
    #expect(longest > 1)
    #expect(sleeps(pace, committing: 10, at: 1_000) == longest)
    #expect(sleeps(pace, committing: 5_600, at: 1_000) == 1)
    // Layers write five times as much, so they would never catch up with large ones.
    pace.note(committed: 200_000, at: 1_000)
    for _ in 0..<30 { #expect(sleeps(pace, at: 1_000) == 0) }
  }

  /// However short they are, and however little each of many writes: layers write five times as much as commits.
  @Test(arguments: [10, 1_000, 50_000])
  func layersWriteAtLeastFiveTimesAsMuchAsCommits(inEachPause byteCount: Int) {
    let pace = WritePace()
    var committed = 0
    let pieceCount = 1_000
    for _ in 0..<pieceCount {
      pace.pause(afterWriting: Self.pieceByteCount, at: 1_000) { _ in
        for _ in 0..<10 { pace.note(committed: byteCount / 10, at: 1_000) }
        committed += byteCount
      }
    }
    #expect(pieceCount * Self.pieceByteCount >= 5 * committed, "\(committed)")
  }

  @Test func commitsBeforeALayerDoNotSpareItThePauses() {
    let pace = WritePace()
    for _ in 0..<1_000 { pace.note(committed: 300, at: 1_000) }
    #expect(sleeps(pace, at: 1_000) > 1)
  }

  @Test func theDriveGetsSmallerPiecesDuringCommits() {
    let pace = WritePace()
    let idle = pace.pieceByteCount
    pace.note(committed: 300)
    #expect(pace.pieceByteCount < idle)
  }
}
