import Testing

@testable import Journaling

/// Layers leave the drive to commits, but keep up with them.
@Suite struct RateLimiterTests {
  /// How often a pause sleeps.
  private func sleeps(_ pace: RateLimiter, _ backlog: LayerBacklog = .none, at milliseconds: Int) -> Int {
    var count = 0
    pace.pause(backlog, at: milliseconds) { seconds in
      #expect(seconds > 0 && seconds < 0.01)
      count += 1
    }
    return count
  }

  @Test func thereIsAPauseWhileThereAreCommitsUnlessLayersAreBehind() {
    let pace = RateLimiter()
    #expect(sleeps(pace, at: 1) == 0)
    pace.noteCommit(at: 1_000)
    #expect(sleeps(pace, at: 1_001) == 1)
    #expect(sleeps(pace, .layer, at: 1_001) == 0)
    #expect(sleeps(pace, .large, at: 1_001) == 0)
    #expect(sleeps(pace, at: 2_000) == 0)
  }

  @Test func theDriveGetsSmallerPiecesDuringCommitsUnlessTheBacklogIsLarge() {
    let pace = RateLimiter()
    let idle = pace.piece(.none, at: 1_000)
    pace.noteCommit(at: 1_000)
    for backlog in [LayerBacklog.none, .layer] {
      #expect(pace.piece(backlog, at: 1_001).byteCount < idle.byteCount)
      #expect(pace.piece(backlog, at: 1_001).unwrittenByteCount == 0)
    }
    // A layer of any size may leave the drive at most this much to write.
    #expect(pace.piece(.large, at: 1_001).byteCount > idle.byteCount)
    #expect((1...(8 << 20)).contains(pace.piece(.large, at: 1_001).unwrittenByteCount))
    #expect(pace.piece(.none, at: 2_000) == idle)
  }
}
