import Files
import Foundation
import Journaling
import Locks
import LogbookModel
import TestSupport
import Testing

extension Battery {
  /// Interrupts backups in every way there is: the journal is unharmed, and so is the last good backup.
  @Suite struct BackupTests {
    @Test func backupsBesideWritersOutliveTheKillingOfTheProcess() throws {
      var random = SeededGenerator()
      let end = Date() + TimeInterval(Battery.size(12, long: 1800))
      var (rounds, backups, cut) = (0, 0, 0)
      while Date() < end {
        try withFolderInMemory { folder in
          let url = URL(fileURLWithPath: "\(folder)/Log.journal")
          let backup = URL(fileURLWithPath: "\(folder)/Log.backup")
          var promised = 0
          for round in 0..<8 where Date() < end {
            let lines = try KilledChild.said(
              by: url, writers: [1, 8, 64].randomElement(using: &random)!, firstTurn: round * 1_000_000,
              backup: backup, random: &random)
            rounds += 1
            for line in lines where line.hasPrefix("backup ") {
              let numbers = line.split(separator: " ").compactMap { Int($0) }
              // A line that the kill has cut is no promise.
              guard numbers.count == 2, numbers[1] >= numbers[0] else { continue }
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
            try #require(try journal.fulfils(copy.receipt), "round \(rounds): the backup is no prefix")
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

    @Test func whicheverOperationOfABackupFailsBothJournalsAreWhole() throws {
      try withFolderInMemory { folder in
        let journal = try Journal<Logbook>.create(
          at: URL(fileURLWithPath: "\(folder)/Log.journal"), options: JournalOptions(snapshots: .manual))
        for turn in 1...4 { try journal.write(turn) }
        let old = URL(fileURLWithPath: "\(folder)/Old.backup")
        try journal.backup(to: old)
        for turn in 5...8 { try journal.write(turn) }
        for isNew in [true, false] {
          let operations = Lock<[FileOperation]>([])
          let first = URL(fileURLWithPath: "\(folder)/First.backup")
          if !isNew { try FileManager.default.copyItem(at: old, to: first) }
          _ = try journal.backup(
            to: first, sharesImages: false,
            hook: { operation in
              operations.withLock { $0.append(operation) }
              return .proceed
            }, progress: { _ in })
          try FileManager.default.removeItem(at: first)
          let count = operations.withLock { $0.count }
          for index in 0..<count {
            for (number, lasts) in [(EIO, false), (ENOSPC, true)] {
              let url = URL(fileURLWithPath: "\(folder)/\(index).backup")
              if !isNew { try FileManager.default.copyItem(at: old, to: url) }
              let seen = Lock(0)
              let result = Result {
                try journal.backup(
                  to: url, sharesImages: false,
                  hook: { _ in
                    let now = seen.withLock { seen in
                      defer { seen += 1 }
                      return seen
                    }
                    return now == index || (lasts && now > index) ? .fail(number) : .proceed
                  }, progress: { _ in })
              }
              let place = "operation \(index), \(number)"
              switch result {
              case .success: #expect(try head(of: url) == journal.head.revision, "\(place)")
              case .failure(let error):
                let code = (error as? JournalError)?.code
                #expect([.io, .outcomeUnknown].contains(code), "\(place): \(error)")
                // A first backup may have been given its name by the time at which the flush of the name failed.
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
        try journal.write(9)
        #expect(try journal.verify().isSound)
        try journal.close()
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
          // More than there is room for, in images and then in entries.
          let blob = try journal.blobs.add(Data(count: 8 << 20))
          try journal.commit { try $0.write(2, "large", blob: blob) }
          var error = #expect(throws: JournalError.self) { try journal.backup(to: url) }
          #expect(error?.code == .io)
          #expect(error?.message.contains("no room for an image of 8388608 bytes") == true)
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

    /// The newest entry of a backup that is whole.
    private func head(of url: URL) throws -> Revision {
      let journal = try Journal<Logbook>.open(at: url, mode: .readOnly)
      defer { try? journal.close() }
      let verification = try journal.verify(deep: true)
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
