import Foundation
import Journaling
import Locks
import LogbookModel
import TestSupport
import Testing

#if canImport(Glibc)
  import Glibc
#endif

extension Battery {
  /// Cuts real file systems off from their disk while commits are made to a journal on them.
  @Suite struct PowerCutTests {
    @Test(.enabled(if: Mount.isPossible("ext4"), "no ext4 can be made and mounted here"))
    func everythingAcknowledgedSurvivesTheLossOfAnExt4Disk() throws {
      try expectEverythingAcknowledgedSurvives("ext4")
    }

    @Test(.enabled(if: Mount.isPossible("xfs"), "no XFS can be made and mounted here"))
    func everythingAcknowledgedSurvivesTheLossOfAnXFSDisk() throws {
      try expectEverythingAcknowledgedSurvives("xfs")
    }

    @Test(.enabled(if: Mount.isPossible("ext4", isEncrypted: true), "no folder can be encrypted here"))
    func everythingAcknowledgedSurvivesTheLossOfTheDiskOfAnEncryptedFolder() throws {
      try expectEverythingAcknowledgedSurvives("ext4", isEncrypted: true)
    }

    private func expectEverythingAcknowledgedSurvives(_ kind: String, isEncrypted: Bool = false) throws {
      var random = SeededGenerator()
      let rounds = Battery.size(8, long: 500)
      // After each cut the whole journal is checked, which takes too long once a journal has had many cuts.
      let cutsOfAJournal = 25
      try withTemporaryFolder { folder in
        let image = try Mount.make(kind, isEncrypted: isEncrypted, in: folder.path)
        let point = try Mount.point(in: folder.path)
        var url = URL(fileURLWithPath: point)
        var acknowledgements = Acknowledgements()
        var count = 0
        for round in 0..<rounds {
          let isFirst = round % cutsOfAJournal == 0
          try Mount.with(["-o", "loop", image], at: point) {
            if round > 0 { try check(url, &acknowledgements, "round \(round) on \(kind)") }
            if isFirst {
              if round > 0 { try FileManager.default.removeItem(at: url) }
              let place = isEncrypted ? try Mount.encryptedFolder(in: point) : point
              url = URL(fileURLWithPath: "\(place)/Log\(round).journal")
              acknowledgements = Acknowledgements()
            }
            let options = round % 2 == 0 ? Scenario.options() : JournalOptions(layers: .many)
            let writing = try Writing(url, options: options, firstTurn: round * 1_000_000)
            writing.start(writers: [1, 8, 32].randomElement(using: &random)!, seed: random.next())
            usleep(UInt32.random(in: 1000..<300_000, using: &random))
            // Only acknowledgements from before the cut count, because later ones race with it.
            let told = writing.told
            try cut(point)
            writing.finish()
            for turn in told { acknowledgements.note(turn.revision, writer: turn.writer, turn: turn.turn) }
            count += told.count
          }
        }
        try Mount.with(["-o", "loop", image], at: point) {
          try check(url, &acknowledgements, "the last round on \(kind)")
        }
        let name = isEncrypted ? "encrypted \(kind)" : kind
        print("power cuts: \(rounds) on \(name), \(count) acknowledged commits")
        #expect(count > 0)
      }
    }

    private func check(_ url: URL, _ acknowledgements: inout Acknowledgements, _ name: String) throws {
      let journal = try Journal<Logbook>.open(at: url)
      let problem = try acknowledgements.problem(with: journal)
      try journal.close()
      try #require(problem == nil, "\(name)")
    }

    /// Does to a file system what a power loss does: nothing in memory reaches the disk any more.
    private func cut(_ point: String) throws {
      let descriptor = unsafe open(point, O_RDONLY | O_DIRECTORY)
      guard descriptor >= 0 else { throw POSIXError(.EIO) }
      defer { close(descriptor) }
      // EXT4_IOC_SHUTDOWN and XFS_IOC_GOINGDOWN are the same number. The flag 2 means: without writing the file
      // system's journal.
      let request: UInt = 0x8004_587D
      var flag: UInt32 = 2
      guard unsafe ioctl(descriptor, request, &flag) == 0 else { throw POSIXError(.ENOTTY) }
    }
  }
}

/// Threads of this process that commit until the disk is gone.
private final class Writing: Sendable {
  struct Turn: Sendable {
    var revision: Revision
    var writer: Int
    var turn: Int
  }

  private let journal: Journal<Logbook>
  private let firstTurn: Int
  private let turns = Lock<[Turn]>([])
  private let running = DispatchGroup()

  init(_ url: URL, options: JournalOptions, firstTurn: Int) throws {
    journal = try Journal<Logbook>.openOrCreate(at: url, options: options)
    self.firstTurn = firstTurn
  }

  var told: [Turn] { turns.withLock { $0 } }

  func start(writers: Int, seed: UInt64) {
    for writer in 0..<writers {
      running.enter()
      Thread { [self] in
        defer { running.leave() }
        // Any error means that the disk is gone.
        try? commit(writer, SeededGenerator(seed: seed &+ UInt64(writer)))
      }.start()
    }
    running.enter()
    Thread { [self] in
      defer { running.leave() }
      try? tendSnapshots(SeededGenerator(seed: ~seed))
    }.start()
  }

  private func tendSnapshots(_ generator: SeededGenerator) throws {
    var random = generator
    while true {
      let newest = journal.head.revision
      guard newest > 0 else {
        usleep(1000)
        continue
      }
      try journal.takeSnapshot(asOf: .revision(.random(in: 1...newest, using: &random)))
      if random.chance(1, in: 2), let first = try journal.snapshots().first {
        try journal.dropSnapshot(at: first.revision)
      }
    }
  }

  private func commit(_ writer: Int, _ generator: SeededGenerator) throws {
    var random = generator
    for turn in firstTurn... {
      let text = String(repeating: "x", count: random.chance(1, in: 20) ? 20_000 : 40)
      let blob = random.chance(1, in: 10) ? try journal.blobs.add(Data(random.bytes(5000))) : nil
      let commit = try journal.commit(by: "\(writer)", note: "\(turn)") { draft in
        try draft.write(writer + 1, "\(turn) \(text)", blob: blob)
      }
      turns.withLock { $0.append(Turn(revision: commit.revision, writer: writer, turn: turn)) }
    }
  }

  /// Waits until all writers have failed, and closes the journal, so that the disk can be unmounted.
  func finish() {
    running.wait()
    try? journal.close()
  }
}
