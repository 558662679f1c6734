import Files
import Foundation
import JournalMaintenance
import Journaling
import Locks
import LogbookModel
import TestSupport
import Testing

extension Battery {
  /// Makes the disk fail or fill up during each kind of copy. The source and the last good copy stay as they are.
  /// Backups, erasures and prunings have their own tests of this.
  @Suite struct CopyFaultTests {
    enum Kind: String, CaseIterable {
      case file, fork, state, salvage, restored

      /// Makes the copy.
      func make(of source: URL, at target: URL, hook: @escaping FileHook = { _ in .proceed }) throws {
        switch self {
        case .salvage:
          var options = JournalOptions()
          options.fileHook = hook
          _ = try Journal<Logbook>.salvage([source], to: target, options: options, progress: { _ in })
        case .restored:
          try Journal<Logbook>.create(
            at: target, fromBackup: Self.file(of: source), options: JournalOptions(fileHook: hook))
        case .file, .fork, .state:
          var options = JournalOptions(layers: .manual)
          options.fileHook = hook
          let journal = try Journal<Logbook>.open(at: source, mode: .readOnly, options: options)
          defer { try? journal.close() }
          if self == .file {
            try journal.backup(toFile: target)
          } else if self == .fork {
            try journal.copy(to: target, through: .head(back: 1))
          } else {
            try journal.copyState(to: target)
          }
        }
      }

      /// The URL of the backup of a journal in one file.
      static func file(of source: URL) -> URL { source.appendingPathExtension("jbak") }
    }

    /// Makes a journal, and a backup of it in one file.
    private func makeSource(in folder: String) throws -> Pages {
      var random = SeededGenerator()
      let pages = try Pages(in: folder, count: 2, &random)
      try Kind.file.make(of: pages.url, at: Kind.file(of: pages.url))
      return pages
    }

    @Test(arguments: Kind.allCases)
    func ifAnyOperationOfACopyFailsTheSourceAndTheLastCopyAreWhole(
      _ kind: Kind
    ) throws {
      try withFolderInMemory { folder in
        let source = try makeSource(in: folder).url
        let place = URL(fileURLWithPath: "\(folder)/place")
        try FileManager.default.createDirectory(at: place, withIntermediateDirectories: false)
        let target = place.appending(path: "Copy")
        let before = try allBytes(of: source)
        let operations = Lock(0)
        try kind.make(of: source, at: target) { _ in
          operations.withLock { $0 += 1 }
          return .proceed
        }
        let count = operations.withLock { $0 }
        var (done, undone) = (0, 0)
        for index in 0..<count {
          for (number, lasts) in [(EIO, false), (ENOSPC, true)] {
            // An existing file is replaced, but there must be no journal at the target.
            if kind != .file { try FileManager.default.removeItem(at: target) }
            let seen = Lock(0)
            let result = Result {
              try kind.make(of: source, at: target) { _ in
                let now = seen.withLock { seen in
                  defer { seen += 1 }
                  return seen
                }
                return now == index || (lasts && now > index) ? .fail(number) : .proceed
              }
            }
            let what = "operation \(index), \(number)"
            #expect(try allBytes(of: source) == before, "\(what)")
            let isThere = FileManager.default.fileExists(atPath: target.path)
            switch result {
            case .success:
              done += 1
              #expect(isThere, "\(what)")
            case .failure(let error):
              undone += 1
              let code = (error as? JournalError)?.code
              #expect([.io, .outcomeUnknown].contains(code), "\(what): \(error)")
            }
            // The copy may already have its name when a later operation fails.
            if isThere { try expectWhole(target, kind, what) }
            if !isThere || kind == .file { try kind.make(of: source, at: target) }
            try expectWhole(target, kind, what)
            #expect(try FileManager.default.contentsOfDirectory(atPath: place.path) == ["Copy"], "\(what)")
          }
        }
        print("\(kind) faults: \(count) operations, \(done) times done, \(undone) times not")
        #expect(count > 3 && undone > 3)
      }
    }

    @Test(
      .enabled(if: Mount.isPossible, "only the superuser can mount a small disk"), arguments: Kind.allCases)
    func aCopyWithoutRoomOnTheDiskReportsItAndLeavesNothing(_ kind: Kind) throws {
      try withTemporaryFolder { folder in
        let source = folder.url.appending(path: "Log.journal")
        let journal = try Journal<Logbook>.create(at: source)
        let early = folder.url.appending(path: "Early.jbak")
        try journal.backup(toFile: early)
        let blob = try journal.blobs.add(Data((0..<2_000_000).map { UInt8(truncatingIfNeeded: $0 / 7) }))
        for turn in 1...20 {
          try journal.commit { try $0.write(turn, String(repeating: "x", count: 100_000), blob: blob) }
        }
        try journal.close()
        try Kind.file.make(of: source, at: Kind.file(of: source))
        let before = try allBytes(of: source)
        let point = try Mount.point(in: folder.path)
        try Mount.with(["-t", "tmpfs", "-o", "size=2m", "none"], at: point) {
          let target = URL(fileURLWithPath: "\(point)/Copy")
          // An earlier good copy.
          if kind == .file { try FileManager.default.copyItem(at: early, to: target) }
          let last = try? Data(contentsOf: target)
          let error = #expect(throws: JournalError.self) { try kind.make(of: source, at: target) }
          #expect(error?.code == .io)
          #expect(error?.message.contains("no room for") == true, "\(error!)")
          #expect(
            try FileManager.default.contentsOfDirectory(atPath: point) == (kind == .file ? ["Copy"] : []))
          #expect((try? Data(contentsOf: target)) == last)
        }
        #expect(try allBytes(of: source) == before)
      }
    }

    @Test func ifAnyOperationOfAGarbageCollectionFailsNoNamedBlobIsRemoved() throws {
      try withFolderInMemory { folder in
        let pages = try makeSource(in: folder)
        let journal = try Journal<Logbook>.open(at: pages.url)
        let unnamed = try (1...3).map { try journal.blobs.add(Data("unnamed \($0)".utf8)) }
        try journal.close()
        func collect(_ url: URL, _ hook: @escaping FileHook) throws {
          _ = try Journal<Logbook>.collectGarbage(at: url, options: JournalOptions(fileHook: hook))
        }
        try pages.failEachOperation(of: "gc", collect) { url, place in
          let journal = try Journal<Logbook>.open(at: url, mode: .readOnly)
          defer { try? journal.close() }
          #expect(journal.head == pages.head, "\(place)")
          let verification = try journal.verify(.deep)
          #expect(verification.problems.map(\.description) == [], "\(place)")
          return unnamed.allSatisfy { (try? journal.blobs.data(of: $0)) == nil }
        }
      }
    }

    @Test(.enabled(if: Mount.isPossible, "only the superuser can mount a small disk"))
    func garbageIsCollectedOnAFullDiskOrTheErrorNamesIt() throws {
      try withTemporaryFolder { folder in
        let point = try Mount.point(in: folder.path)
        try Mount.with(["-t", "tmpfs", "-o", "size=4m", "none"], at: point) {
          let url = URL(fileURLWithPath: "\(point)/Log.journal")
          let journal = try Journal<Logbook>.create(at: url)
          let named = try journal.blobs.add(Data("named".utf8))
          try journal.commit { try $0.write(1, String(repeating: "x", count: 200_000), blob: named) }
          _ = try journal.blobs.add(Data(count: 1 << 20))
          try journal.close()
          let ballast = FileManager.default.createFile(atPath: "\(point)/ballast", contents: nil)
          #expect(ballast)
          let file = try #require(FileHandle(forWritingAtPath: "\(point)/ballast"))
          do { while true { try file.write(contentsOf: Data(count: 4096)) } } catch {}
          try file.close()
          do {
            #expect(try Journal<Logbook>.collectGarbage(at: url).imageCount == 1)
          } catch let error as JournalError {
            #expect(error.code == .io, "\(error)")
          }
          try FileManager.default.removeItem(atPath: "\(point)/ballast")
          let again = try Journal<Logbook>.open(at: url)
          #expect(try again.verify(.deep).isSound)
          try again.close()
          _ = try Journal<Logbook>.collectGarbage(at: url)
          #expect(try Journal<Logbook>.diagnose(url).problems.isEmpty)
        }
      }
    }

    /// Checks that a copy is whole, by reading all of it.
    private func expectWhole(_ url: URL, _ kind: Kind, _ what: String) throws {
      var journalURL = url
      if kind == .file {
        journalURL = url.deletingLastPathComponent().deletingLastPathComponent().appending(
          path: "Read.journal")
        try? FileManager.default.removeItem(at: journalURL)
        try Journal<Logbook>.create(at: journalURL, fromBackup: url)
      }
      let journal = try Journal<Logbook>.open(at: journalURL, mode: .readOnly)
      defer { try? journal.close() }
      #expect(journal.head.revision > 0, "\(what)")
      #expect(try journal.verify(.deep).problems.map(\.description) == [], "\(what)")
    }
  }
}
