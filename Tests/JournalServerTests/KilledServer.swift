import CatalogModel
import ClubModel
import Foundation
import Locks
import TestSupport
import Testing

/// `journal serve --edit` in a process of its own, to which threads commit until it is killed.
final class KilledServer {
  struct Acknowledgement: Sendable {
    let revision: Revision
    let note: String
  }

  /// What its threads note.
  private final class Notes: Sendable {
    let acknowledgements = Lock<[Acknowledgement]>([])
  }

  private let process = Process()
  private let port: UInt16
  private let notes = Notes()
  private let group = DispatchGroup()

  /// Starts the server.
  init(_ url: URL, in folder: TemporaryFolder) throws {
    let name = UUID().uuidString
    let (tokens, output) = (folder.path("tokens-\(name)"), folder.path("output-\(name)"))
    for (path, text) in [(tokens, "\(ServedJournal.token)\n"), (output, "")] {
      try text.write(toFile: path, atomically: false, encoding: .utf8)
      try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
    }
    process.executableURL = URL(filePath: journalPath)
    process.arguments = ["serve", url.path, "--edit", "--token-file", tokens]
    let handle = try #require(FileHandle(forWritingAtPath: output))
    process.standardOutput = handle
    process.standardError = FileHandle.nullDevice
    try process.run()
    var line = ""
    let end = Date() + 300
    while !line.hasSuffix("\n"), process.isRunning, Date() < end {
      usleep(5_000)
      line = try String(contentsOfFile: output, encoding: .utf8)
    }
    let found = try #require(line.firstMatch(of: /:([0-9]+)\//), "the server printed no address")
    port = try #require(UInt16(found.1))
  }

  /// Starts threads that commit, undo and redo until the server is gone.
  /// - Parameter club: what they believe is in the journal.
  func commit(to club: Club, as name: String, threads: Int, seed: UInt64) throws {
    for thread in 0..<threads {
      group.enter()
      let isStarted = Threads.start { [port, notes, group] in
        defer { group.leave() }
        var random = SeededGenerator(seed: seed &+ UInt64(thread))
        var turn = 0
        while true {
          turn += 1
          let note = "\(name)-\(thread)-\(turn)"
          let author = ["ana", "bob", "eve"].randomElement(using: &random)!
          var (path, text) = (
            "/api/commits", ClubDocument.commit(club.randomChanges(&random).changes, by: author, note: note)
          )
          if random.chance(1, in: 4) {
            let request: ClubRequest = random.chance(1, in: 3) ? .redo : .undo
            let later = [LaterEdits.refuse, .keep, .override].randomElement(using: &random)!
            let (route, body) = ClubDocument.request(request, by: author, later)
            (path, text) = (route, ClubDocument.text(body.merging(["note": .string(note)]) { $1 }))
          }
          // Without an answer, the server was killed.
          guard let answer = try? ServedJournal.ask(port, "POST", path, body: Array(text.utf8)) else {
            return
          }
          guard answer.status == 201 else {
            #expect([200, 404, 409, 422].contains(answer.status), "\(answer.text)")
            continue
          }
          guard let revision = (try? answer.json())?["revision"]?.integer else { return }
          notes.acknowledgements.withLock {
            $0.append(Acknowledgement(revision: Revision(revision), note: note))
          }
        }
      }
      try #require(isStarted)
    }
  }

  /// Waits until so many commits were acknowledged, and kills the server with SIGKILL.
  /// - Returns: the acknowledged commits.
  func kill(after count: Int) -> [Acknowledgement] {
    let end = Date() + 300
    while notes.acknowledgements.withLock({ $0.count }) < count, process.isRunning, Date() < end {
      usleep(2_000)
    }
    #expect(process.isRunning)
    Foundation.kill(process.processIdentifier, SIGKILL)
    process.waitUntilExit()
    group.wait()
    return notes.acknowledgements.withLock { $0 }
  }
}
