import Files
import Foundation
import JournalMaintenance
import Journaling
import Locks
import LogbookModel
import TestSupport
import Testing

extension Battery {
  /// A temporary shortage, such as all file descriptors in use for a moment, must have only temporary effects.
  @Suite struct CommitShortageTests {
    /// If no thread could be created, commits, closing and opening used to wait forever.
    @Test func aJournalWorksWithoutFurtherThreads() throws {
      try withFolderInMemory { folder in
        let process = Process()
        let executable = try #require(Bundle.main.executableURL).resolvingSymlinksInPath()
        process.executableURL = executable.deletingLastPathComponent().appendingPathComponent("CrashChild")
        process.arguments = ["\(folder)/Log.journal", "threads"]
        let errors = Pipe()
        process.standardError = errors
        try process.run()
        // A hanging test would report nothing.
        let end = Date() + 120
        while process.isRunning, Date() < end { usleep(10_000) }
        let hangs = process.isRunning
        if hangs { kill(process.processIdentifier, SIGKILL) }
        process.waitUntilExit()
        let complaints = String(
          decoding: try errors.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
        #expect(!hangs)
        #expect(process.terminationReason == .exit && process.terminationStatus == 0, "\(complaints)")
      }
    }

    /// Gives HEAD a hard link at each flush of the log, so that the next commit replaces HEAD. Now and then refuses the
    /// descriptor for that, a few times in a row.
    private final class Descriptors: Sendable {
      private let head: URL
      private let link: URL
      private let random = Lock(SeededGenerator())
      private let refusals = Lock(0)
      private let moment = Lock(0)
      let areScarce = Lock(false)

      var count: Int { refusals.withLock { $0 } }

      init(journal: URL) {
        head = journal.appending(path: "HEAD")
        link = journal.deletingLastPathComponent().appending(path: "HEAD of a backup")
      }

      var hook: FileHook {
        { [self] operation in
          guard areScarce.withLock({ $0 }) else { return .proceed }
          if operation.kind == .sync, operation.path.hasSuffix(".log") {
            try? FileManager.default.removeItem(at: link)
            try? FileManager.default.linkItem(at: head, to: link)
          }
          guard operation.kind == .create, operation.path.hasSuffix("/HEAD.new") else { return .proceed }
          // A shortage begins at random and ends after a few attempts.
          let isRefused = moment.withLock { left in
            if left == 0, random.withLock({ $0.chance(1, in: 8) }) { left = 3 }
            if left > 0 { left -= 1 }
            return left > 0
          }
          guard isRefused else { return .proceed }
          refusals.withLock { $0 += 1 }
          return .fail(EMFILE)
        }
      }
    }

    /// The outcomes of commits.
    private final class Outcomes: Sendable {
      /// The last acknowledged text of each page.
      let acknowledged = Lock<[Int: String]>([:])
      let refused = Lock(0)
      let others = Lock<[String]>([])

      func note(_ page: Int, _ text: String, _ body: () async throws -> Void) async {
        do {
          try await body()
          acknowledged.withLock { $0[page] = text }
        } catch let error as JournalError where error.code == .outOfResources {
          refused.withLock { $0 += 1 }
        } catch {
          others.withLock { $0.append("\(error)") }
        }
      }
    }

    @Test func aShortageFailsOnlyTheOperationsThatDependOnIt() async throws {
      let folder = FileManager.default.temporaryDirectory.appendingPathComponent("journal-test-\(UUID())")
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
      defer { try? FileManager.default.removeItem(at: folder) }
      let url = folder.appendingPathComponent("Log.journal")
      let descriptors = Descriptors(journal: url)
      var options = JournalOptions(layers: .many)
      options.fileHook = descriptors.hook
      let journal = try Journal<Logbook>.create(at: url, options: options)
      descriptors.areScarce.withLock { $0 = true }

      let outcomes = Outcomes()
      let turns = Battery.size(60, long: 2_000)
      await withTaskGroup { group in
        for page in 1...16 {
          group.addTask {
            for turn in 0..<turns {
              let text = "\(page) \(turn)"
              await outcomes.note(page, text) {
                let blob = turn % 2 == 0 ? try journal.blobs.add(Data(text.utf8)) : nil
                if page % 4 == 0 {
                  // A blocking commit, on its own thread.
                  try await Self.onAThread { try journal.commit { try $0.write(page, text, blob: blob) } }
                } else {
                  try await journal.commit { try $0.write(page, text, blob: blob) }
                }
              }
            }
          }
        }
      }
      #expect(outcomes.others.withLock { $0 } == [])
      let refused = outcomes.refused.withLock { $0 }
      #expect(refused > 0)
      print("shortages: \(descriptors.count), \(refused) of \(16 * turns) commits refused")
      let state = journal.state
      let texts = outcomes.acknowledged.withLock { $0 }
      #expect(!texts.isEmpty)
      for (page, text) in texts {
        #expect(state.pages[page]?.record["text"] == .string(text), "page \(page)")
      }
      descriptors.areScarce.withLock { $0 = false }
      try await journal.commit { try $0.write(99, "after") }
      let head = journal.head
      try journal.close()
      let opened = try Journal<Logbook>.open(at: url)
      #expect(opened.head == head)
      let verification = try opened.verify()
      #expect(verification.isSound, "\(verification.problems)")
      for (page, text) in texts { #expect(opened.state.pages[page]?.record["text"] == .string(text)) }
      try opened.close()
    }

    private static func onAThread(_ body: @escaping @Sendable () throws -> some Any) async throws {
      try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
        let isStarted = Threads.start { continuation.resume(with: Result { _ = try body() }) }
        if !isStarted { continuation.resume(throwing: CancellationError()) }
      }
    }
  }
}
