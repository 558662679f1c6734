import Files
import Foundation
import JournalMaintenance
import Journaling
import Locks
import LogbookModel
import TestSupport
import Testing

extension Battery {
  /// Interrupts backups in every possible way. The journal stays unharmed, and so does the last good backup.
  @Suite struct BackupTests {
    /// The process that writes, or another one, makes backups. The processes are killed at random moments.
    @Test func backupsDuringCommitsSurviveKillingTheProcess() throws {
      var random = SeededGenerator()
      let moments = Battery.size(24, long: 500)
      var (rounds, backups, cut) = (0, 0, 0)
      // On a busy machine few backups are killed in the middle, so rounds continue until one has been.
      while rounds < moments || cut == 0 && rounds < 10 * moments {
        try withFolderInMemory { folder in
          let url = URL(fileURLWithPath: "\(folder)/Log.journal")
          let backup = URL(fileURLWithPath: "\(folder)/Log.backup")
          var promised = 0
          for round in 0..<8 {
            let writers = [1, 8, 64].randomElement(using: &random)!
            let first = round * 1_000_000
            let lines =
              try random.chance(1, in: 2)
              ? killed(url, writers: writers, firstTurn: first, backup: backup, &random)
              : KilledChild.said(by: url, writers: writers, firstTurn: first, [backup.path], random: &random)
            rounds += 1
            for line in lines where line.hasPrefix("backup ") {
              let numbers = line.split(separator: " ").compactMap { Int($0) }
              try #require(numbers.count == 2 && numbers[1] >= numbers[0], "round \(rounds): \(line)")
              promised = max(promised, numbers[1])
              backups += 1
            }
            guard FileManager.default.fileExists(atPath: backup.path) else {
              #expect(promised == 0, "round \(rounds): the backup is gone")
              continue
            }
            let journal = try Journal<Logbook>.open(at: url, mode: .readOnly)
            let copy = try Journal<Logbook>.open(at: backup, mode: .readOnly)
            try #require(copy.head.revision >= promised, "round \(rounds)")
            if copy.head.revision > promised { cut += 1 }
            try #require(try journal.contains(copy.receipt), "round \(rounds): the backup is no prefix")
            let verification = try copy.verify()
            try #require(verification.isSound, "round \(rounds): \(verification.problems)")
            try copy.close()
            try journal.close()
          }
        }
      }
      print(
        "backup: \(rounds) kills, \(backups) backups returned, \(cut) were cut and had more than the last")
      #expect(backups > 0)
      #expect(cut > 0)
    }

    /// Writes in one process and backs up in another, and kills one after the other.
    /// - Returns: the lines that the process that backs up printed.
    private func killed(
      _ url: URL, writers: Int, firstTurn: Int, backup: URL, _ random: inout SeededGenerator
    ) throws -> [Substring] {
      let writer = try KilledProcess(
        [url.path, "\(writers)", "\(firstTurn)", "\(random.next())"], sayingInto: url.path + ".writer")
      try writer.waitForWords()
      usleep(UInt32.random(in: 0..<60_000, using: &random))
      // The first backup must have everything that the writer has acknowledged by now.
      let acknowledged = try writer.lines().compactMap { $0.split(separator: " ").first.flatMap { Int($0) } }
        .max()
      let copier = try KilledProcess(["backup", url.path, backup.path], sayingInto: url.path + ".copier")
      if random.chance(3, in: 4) { try copier.waitForWords() }
      usleep(UInt32.random(in: 0..<120_000, using: &random))
      if random.chance(1, in: 2) {
        try writer.kill()
        usleep(UInt32.random(in: 0..<60_000, using: &random))
        try copier.kill()
      } else {
        try copier.kill()
        try writer.kill()
      }
      let lines = try copier.lines()
      if let first = lines.first?.split(separator: " ").last.flatMap({ Int($0) }) {
        try #require(first >= acknowledged ?? 0, "the backup lacks what was acknowledged before it began")
      }
      return lines
    }

    @Test func ifAnyOperationOfABackupFailsBothJournalsAreWhole() throws {
      try withFolderInMemory { folder in
        let source = URL(fileURLWithPath: "\(folder)/Log.journal")
        let writer = try Journal<Logbook>.create(at: source, options: JournalOptions(layers: .manual))
        for turn in 1...4 { try writer.write(turn) }
        let old = URL(fileURLWithPath: "\(folder)/Old.backup")
        try writer.backup(to: old)
        for turn in 5...8 { try writer.write(turn) }
        try writer.close()
        // The journal is opened for reading only, so every operation that is counted belongs to the backup.
        let hook = Lock<FileHook>({ _ in .proceed })
        var options = JournalOptions(layers: .manual)
        options.fileHook = { operation in hook.withLock { $0 }(operation) }
        let journal = try Journal<Logbook>.open(at: source, mode: .readOnly, options: options)
        for isNew in [true, false] {
          let operations = Lock<[FileOperation]>([])
          let first = URL(fileURLWithPath: "\(folder)/First.backup")
          if !isNew { try FileManager.default.copyItem(at: old, to: first) }
          hook.withLock {
            $0 = { operation in
              operations.withLock { $0.append(operation) }
              return .proceed
            }
          }
          try journal.backup(to: first, sharesImages: false)
          try FileManager.default.removeItem(at: first)
          let count = operations.withLock { $0.count }
          for index in 0..<count {
            for (number, lasts) in [(EIO, false), (ENOSPC, true)] {
              let url = URL(fileURLWithPath: "\(folder)/\(index).backup")
              if !isNew { try FileManager.default.copyItem(at: old, to: url) }
              let seen = Lock(0)
              hook.withLock {
                $0 = { _ in
                  let now = seen.withLock { seen in
                    defer { seen += 1 }
                    return seen
                  }
                  return now == index || (lasts && now > index) ? .fail(number) : .proceed
                }
              }
              let result = Result { try journal.backup(to: url, sharesImages: false) }
              hook.withLock { $0 = { _ in .proceed } }
              let place = "operation \(index), \(number)"
              switch result {
              case .success: #expect(try head(of: url) == journal.head.revision, "\(place)")
              case .failure(let error):
                let code = (error as? JournalError)?.code
                #expect([.io, .outcomeUnknown].contains(code), "\(place): \(error)")
                // A new backup may already have its name when the flush of that name fails.
                if !isNew || FileManager.default.fileExists(atPath: url.path) {
                  #expect(try head(of: url) >= (isNew ? 8 : 4), "\(place)")
                }
              }
              try journal.backup(to: url)
              #expect(try head(of: url) == 8, "\(place)")
              try FileManager.default.removeItem(at: url)
            }
          }
          print("backup faults: \(count) operations, \(isNew ? "a new backup" : "an old one")")
          #expect(count > 10)
        }
        try journal.close()
        let again = try Journal<Logbook>.open(at: source)
        try again.write(9)
        #expect(try again.verify().isSound)
        try again.close()
      }
    }

    @Test(.enabled(if: Mount.isPossible, "only the superuser can mount a small disk"))
    func aFullDiskIsNamedAndTheLastBackupIsWhole() throws {
      try withTemporaryFolder { folder in
        let journal = try Journal<Logbook>.create(at: folder.url.appending(path: "Log.journal"))
        try journal.write(1)
        let point = try Mount.point(in: folder.path)
        try Mount.with(["-t", "tmpfs", "-o", "size=6m", "none"], at: point) {
          let url = URL(fileURLWithPath: "\(point)/Log.backup")
          try journal.backup(to: url)
          // Write more than there is room for: first an image, then entries.
          let blob = try journal.blobs.add(Data(count: 8 << 20))
          try journal.commit { try $0.write(2, "large", blob: blob) }
          var error = #expect(throws: JournalError.self) { try journal.backup(to: url) }
          #expect(error?.code == .io)
          #expect(
            error?.message.contains("no room for an image of 8388608 bytes: 9437184 must be free") == true)
          #expect(try head(of: url) == 1)
          for turn in 3...60 {
            try journal.commit { try $0.write(turn, String(repeating: "x", count: 100_000)) }
          }
          let fresh = URL(fileURLWithPath: "\(point)/Fresh.backup")
          error = #expect(throws: JournalError.self) { try journal.backup(to: fresh) }
          #expect(error?.message.contains("no room for the entries") == true)
          let file = URL(fileURLWithPath: "\(point)/Log.jbak")
          error = #expect(throws: JournalError.self) { try journal.backup(toFile: file) }
          #expect(error?.code == .io)
          #expect(try FileManager.default.contentsOfDirectory(atPath: point) == ["Log.backup"])
          #expect(try head(of: url) == 1)
        }
        #expect(try journal.verify().isSound)
        try journal.close()
      }
    }

    /// The newest revision of a backup, which must be sound.
    private func head(of url: URL) throws -> Revision {
      let journal = try Journal<Logbook>.open(at: url, mode: .readOnly)
      defer { try? journal.close() }
      let verification = try journal.verify(.deep)
      try #require(verification.isSound, "\(verification.problems)")
      return journal.head.revision
    }
  }
}

extension Journal where State == Logbook {
  fileprivate func write(_ turn: Int) throws {
    let blob = try blobs.add(Data("image \(turn)".utf8))
    try commit(by: "ana") { try $0.write(turn, "page \(turn)", blob: blob) }
  }
}
