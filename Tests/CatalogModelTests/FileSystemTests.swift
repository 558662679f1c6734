import CatalogModel
import Files
import Foundation
import JournalMaintenance
import Locks
import TestSupport
import Testing

/// Journals and backups on file systems that have no hard links, report other sizes for them, or don't say how much
/// room is left.
@Suite struct FileSystemTests {
  private static let picture = Data("red".utf8)

  /// A journal with one image, opened with a hook that is called before the image is linked, but not before it is
  /// copied under the same name.
  private func withJournal(
    in folder: URL, link: @escaping @Sendable (_ source: URL) -> FileVerdict = { _ in .proceed },
    _ body: (_ journal: CatalogJournal, _ image: URL, _ backup: URL) throws -> Void
  ) throws {
    let url = folder.appending(path: "Finds.journal")
    let made = try CatalogJournal.create(at: url)
    let blob = try made.blobs.add(Self.picture)
    try made.commit { draft in
      let item = try draft.addItem(kind: "find")
      try draft.addImage(to: item, name: "a.png", mediaType: "image/png", blob: blob)
    }
    try made.close()
    let image = url.appending(path: "images/\(blob.digest.hex)")
    let isLinked = Lock(false)
    var options = JournalOptions()
    options.fileHook = { operation in
      guard operation.kind == .create, operation.path.contains("/images/") else { return .proceed }
      let isFirst = isLinked.withLock { isLinked in
        defer { isLinked = true }
        return !isLinked
      }
      return isFirst ? link(image) : .proceed
    }
    let journal = try CatalogJournal.open(at: url, mode: .readOnly, options: options)
    defer { try? journal.close() }
    try body(journal, image, folder.appending(path: "Finds.backup"))
  }

  private func check(_ backup: URL, location: SourceLocation = #_sourceLocation) throws {
    let opened = try CatalogJournal.open(at: backup)
    defer { try? opened.close() }
    #expect(opened.head.revision == 1, sourceLocation: location)
    #expect(try opened.verify(.deep).problems.map(\.description) == [], sourceLocation: location)
  }

  /// CryFS, for example, says that a link is a result out of range.
  @Test(arguments: [ERANGE, EXDEV, EMLINK, EPERM, ENOSYS, EOPNOTSUPP, EINVAL, ENOTTY])
  func anImageThatTheFileSystemCanNotLinkIsCopied(_ error: Int32) throws {
    try withTemporaryFolder { folder in
      try withJournal(in: folder.url, link: { _ in .fail(error) }) { journal, _, backup in
        let report = try journal.backup(to: backup)
        #expect(report.copiedImageCount == 1)
        #expect(report.sharedImageCount == 0)
        try check(backup)
      }
    }
  }

  @Test(arguments: [EIO, ENOSPC, EDQUOT, EROFS, EACCES, EMFILE, ENFILE, ENOMEM])
  func aLinkThatFailsForALackOrABrokenDriveIsAnError(_ error: Int32) throws {
    try withTemporaryFolder { folder in
      try withJournal(in: folder.url, link: { _ in .fail(error) }) { journal, image, backup in
        let failure = #expect(throws: JournalError.self) { try journal.backup(to: backup) }
        #expect(failure?.message.hasPrefix("can't link the file: ") == true, "\(String(describing: failure))")
        #expect(failure?.code != .damaged)
        #expect(try Data(contentsOf: image) == Self.picture)
        try journal.backup(to: backup)
        try check(backup)
      }
    }
  }

  /// Another file has the image's name when it is linked, so the link has another size. The image was opened before.
  @Test func aLinkOfAnotherSizeIsRemovedAndTheImageIsCopied() throws {
    try withTemporaryFolder { folder in
      let other = Data("another size".utf8)
      try withJournal(
        in: folder.url,
        link: { image in
          try? other.write(to: image, options: .atomic)
          return .proceed
        }
      ) { journal, image, backup in
        #expect(try journal.backup(to: backup).copiedImageCount == 1)
        try check(backup)
        // The source is never removed.
        #expect(try Data(contentsOf: image) == other)
        let images = image.deletingLastPathComponent()
        #expect(try FileManager.default.contentsOfDirectory(atPath: images.path).count == 1)
      }
    }
  }

  @Test(arguments: ["blue", "rad"])
  func anImageWhoseLinkAndCopyAreBothAlteredIsDamaged(_ text: String) throws {
    try withTemporaryFolder { folder in
      try withJournal(
        in: folder.url,
        link: { image in
          try? Data(text.utf8).write(to: image)
          return .proceed
        }
      ) { journal, image, backup in
        let error = #expect(throws: JournalError.self) { try journal.backup(to: backup) }
        #expect(error?.code == .damaged)
        #expect(error?.message.contains("the bytes of an image are altered") == true)
        #expect(!FileManager.default.fileExists(atPath: backup.path))
        let source = try Data(contentsOf: image)
        #expect(source == Data(text.utf8))
      }
    }
  }

  /// File systems without sizes were taken for full ones.
  @Test(
    .enabled(if: Mount.isPossible, "only the superuser can mount a disk"),
    arguments: [["-t", "ramfs"], ["-t", "tmpfs", "-o", "size=0"]])
  func aFileSystemThatDoesNotSayHowMuchRoomItHasIsNotFull(_ kind: [String]) throws {
    try withTemporaryFolder { folder in
      let point = try Mount.point(in: folder.path)
      try Mount.with(kind + ["none"], at: point) {
        let url = URL(fileURLWithPath: point)
        try withJournal(in: url) { journal, _, backup in
          try journal.backup(to: backup)
          try journal.backup(to: url.appending(path: "Copies.backup"), sharesImages: false)
          try journal.backup(toFile: url.appending(path: "Finds.jbak"))
          try check(backup)
        }
        let journal = try CatalogJournal.open(at: url.appending(path: "Finds.journal"))
        try journal.commit { try $0.addItem(kind: "find") }
        try journal.takeSnapshot()
        try journal.close()
        try CatalogJournal.prune(before: .revision(2), at: journal.url)
        let restored = url.appending(path: "Restored.journal")
        let file = url.appending(path: "Finds.jbak")
        #expect(try CatalogJournal.create(at: restored, fromBackup: file).revision == 1)
      }
    }
  }
}
