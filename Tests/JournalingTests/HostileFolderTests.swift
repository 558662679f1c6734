import Foundation
import JournalMaintenance
import Journaling
import LogbookModel
import TestSupport
import Testing

/// Puts foreign things into a journal's folder: links, pipes, sockets, devices, huge sparse files, unknown names.
@Suite struct HostileFolderTests {
  /// What a name can refer to instead of a file.
  enum Thing: String, CaseIterable, Sendable {
    case link, linkToFolder, danglingLink, pipe, socket, device, folder

    /// What not every user can make, and without Python not at all.
    static let rare = [device, socket]

    /// Whether those can be made here.
    static let areRarePossible = rare.allSatisfy { thing in
      let isMade = try? withTemporaryFolder { folder in
        try thing.put(at: folder.path("thing"), target: folder.url.appending(path: "target"))
      }
      return isMade == true
    }

    /// - Returns: false if this user can't make it.
    func put(at path: String, target: URL) throws -> Bool {
      let folder = target.deletingLastPathComponent()
      switch self {
      case .link: return unsafe symlink(target.path, path) == 0
      case .linkToFolder: return unsafe symlink(folder.path, path) == 0
      case .danglingLink: return unsafe symlink("/nowhere/at/all", path) == 0
      case .pipe: return unsafe mkfifo(path, 0o600) == 0
      case .folder: return unsafe mkdir(path, 0o700) == 0
      case .device:
        // The numbers of /dev/zero on Linux.
        let isMade = unsafe mknod(path, S_IFCHR | 0o600, 0x0105) == 0
        return isMade
      case .socket:
        let name = "s-\(UUID().uuidString.prefix(8))"
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.currentDirectoryURL = folder
        process.arguments = [
          "python3", "-c", "import socket,sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])", name,
        ]
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { return false }
        return unsafe rename(folder.appendingPathComponent(name).path, path) == 0
      }
    }
  }

  @Test(arguments: Thing.allCases.filter { !Thing.rare.contains($0) })
  func aLinkOrPipeWithTheNameOfABlobIsNotOpened(_ thing: Thing) throws {
    try withLogbook { journal, url in
      let bytes = Data("cover".utf8)
      let blob = try journal.blobs.add(bytes)
      try journal.commit { try $0.write(1, "a page", blob: blob) }
      let place = journal.blobs.url(of: blob)
      let target = url.deletingLastPathComponent().appendingPathComponent("precious")
      try Data("cover".utf8).write(to: target)
      try FileManager.default.removeItem(at: place)
      try #require(try thing.put(at: place.path, target: target))

      let error = #expect(throws: JournalError.self) { try journal.blobs.data(of: blob) }
      #expect(error?.code == .damaged)
      #expect(error?.path == place.path)
      let verified = try journal.verify()
      #expect(verified.problems.contains { $0.path == place.path })
      // Only a folder can't be replaced by a file.
      if thing == .folder {
        #expect(throws: JournalError.self) { try journal.blobs.add(bytes) }
        return
      }
      let again = try journal.blobs.add(bytes)
      #expect(again == blob)
      #expect(try journal.blobs.data(of: blob) == bytes)
      #expect(try Data(contentsOf: target) == Data("cover".utf8))
      #expect(try journal.verify().isSound)
    }
  }

  @Test(
    .enabled(if: Thing.areRarePossible, "python3 or the right to make devices is missing"),
    arguments: Thing.rare)
  func aDeviceOrSocketWithTheNameOfABlobIsNotOpened(_ thing: Thing) throws {
    try aLinkOrPipeWithTheNameOfABlobIsNotOpened(thing)
  }

  private static let names = [
    "images/ab", "images", "snapshots", "entries/000999.ldb", "HEAD", "notes",
  ]

  @Test(arguments: Thing.allCases.filter { !Thing.rare.contains($0) }, names)
  func aForeignFileAnywhereIsNamedInTheErrorAndLeftAlone(_ thing: Thing, _ name: String) throws {
    try withLogbook { journal, url in
      try journal.commit { try $0.write(1, "page") }
      try journal.close()
      let target = url.deletingLastPathComponent().appendingPathComponent("precious")
      try Data("precious".utf8).write(to: target)
      let place = url.appendingPathComponent(name)
      try? FileManager.default.removeItem(at: place)
      // These are folders in every journal.
      if thing == .folder && ["images", "snapshots"].contains(name) { return }
      try #require(try thing.put(at: place.path, target: target))
      for mode in [Journal<Logbook>.Mode.readOnly, .readWrite] {
        // Nothing of the journal has these names, so what has them is neither read nor written.
        if ["images/ab", "notes"].contains(name) {
          let journal = try Journal<Logbook>.open(at: url, mode: mode)
          let found = try journal.verify()
          #expect(found.isSound && found.problems.map(\.path) == [place.path])
          try journal.close()
          continue
        }
        let error = #expect(throws: JournalError.self) { try Journal<Logbook>.open(at: url, mode: mode) }
        #expect(error?.code == .notAJournal)
        #expect(error?.path?.hasSuffix(name) == true)
      }
      #expect((try? FileManager.default.attributesOfItem(atPath: place.path)) != nil)
      #expect(try Data(contentsOf: target) == Data("precious".utf8))
    }
  }

  @Test(
    .enabled(if: Thing.areRarePossible, "python3 or the right to make devices is missing"),
    arguments: Thing.rare, names)
  func aForeignDeviceOrSocketIsNamedInTheErrorAndLeftAlone(_ thing: Thing, _ name: String) throws {
    try aForeignFileAnywhereIsNamedInTheErrorAndLeftAlone(thing, name)
  }

  @Test func verifyFindsAForeignFileAddedWhileAJournalIsOpen() throws {
    try withLogbook { journal, url in
      #expect(try journal.verify().isSound)
      try Data("?".utf8).write(to: url.appendingPathComponent("images/notes.txt"))
      #expect(unsafe symlink("/etc/passwd", url.appendingPathComponent("images/ab").path) == 0)
      let problems = try journal.verify().problems.compactMap(\.path)
      #expect(problems.contains { $0.hasSuffix("images/notes.txt") })
      #expect(problems.contains { $0.hasSuffix("images/ab") })
    }
  }

  @Test func aHugeSparseFileInPlaceOfABlobIsNotRead() throws {
    try withLogbook { journal, _ in
      let blob = try journal.blobs.add(Data("small".utf8))
      try journal.commit { try $0.write(1, "a page", blob: blob) }
      // 8 TiB of zeros would take hours to hash.
      #expect(unsafe truncate(journal.blobs.url(of: blob).path, 8 << 40) == 0)
      let error = #expect(throws: JournalError.self) { try journal.blobs.data(of: blob) }
      #expect(error?.code == .damaged)
      #expect(try journal.verify().problems.count == 1)
    }
  }

  @Test func aBlobLargerThanAllMemoryIsAnErrorAndNoCrash() throws {
    try withLogbook { journal, _ in
      let blob = Blob(digest: try journal.blobs.add(Data("small".utf8)).digest, byteCount: 8 << 40)
      #expect(unsafe truncate(journal.blobs.url(of: blob).path, 8 << 40) == 0)
      let error = #expect(throws: JournalError.self) { try journal.blobs.data(of: blob) }
      #expect(error?.code == .outOfResources)
    }
  }

  @Test func aBlobThatIsCutWhileItIsReadIsAnErrorAndNoCrash() throws {
    try withLogbook { journal, _ in
      let bytes = Data(repeating: 7, count: 32 << 20)
      let blob = try journal.blobs.add(bytes)
      let path = journal.blobs.url(of: blob).path
      let reader = Thread {
        for _ in 0..<20 {
          unsafe truncate(path, 4096)
          usleep(500)
          unsafe truncate(path, 32 << 20)
        }
      }
      reader.start()
      for _ in 0..<20 {
        do {
          #expect(try journal.blobs.data(of: blob) == bytes)
        } catch let error as JournalError {
          #expect(error.code == .damaged)
        }
      }
      while !reader.isFinished { usleep(1000) }
    }
  }

  @Test func addingBytesAgainRepairsADamagedFileOfTheSameSize() throws {
    try withLogbook { journal, _ in
      let bytes = Data("the cover of a book".utf8)
      let blob = try journal.blobs.add(bytes)
      try Data("the cover of a bOOk".utf8).write(to: journal.blobs.url(of: blob))
      #expect(throws: JournalError.self) { try journal.blobs.data(of: blob) }
      #expect(try journal.blobs.add(bytes) == blob)
      #expect(try journal.blobs.data(of: blob) == bytes)
    }
  }

  @Test func anAddedFileMayBeALinkButNoPipeFolderOrWebAddress() throws {
    try withLogbook { journal, url in
      let folder = url.deletingLastPathComponent()
      try Data("photo".utf8).write(to: folder.appendingPathComponent("photo"))
      #expect(unsafe symlink("photo", folder.appendingPathComponent("link").path) == 0)
      #expect(unsafe mkfifo(folder.appendingPathComponent("pipe").path, 0o600) == 0)
      let blob = try journal.blobs.add(contentsOf: folder.appendingPathComponent("link"))
      #expect(try journal.blobs.data(of: blob) == Data("photo".utf8))
      for name in ["pipe", "."] {
        let error = #expect(throws: JournalError.self) {
          try journal.blobs.add(contentsOf: folder.appendingPathComponent(name))
        }
        #expect(error?.code == .wrongUse)
      }
      let web = try #require(URL(string: "https://example.org/cup.jpg"))
      let error = #expect(throws: JournalError.self) { try journal.blobs.add(contentsOf: web) }
      #expect(error?.code == .wrongUse)
    }
  }
}

/// Calls `body` with a new journal whose pages can name blobs.
private func withLogbook<Result>(_ body: (Journal<Logbook>, URL) throws -> Result) throws -> Result {
  try withTemporaryFolder { folder in
    let url = folder.url.appendingPathComponent("Log.journal")
    return try body(try Journal<Logbook>.create(at: url), url)
  }
}
