import Files
import Locks

/// Reads HEAD repeatedly while another process marks it. See ``HeadFile``.
///
/// The file stays open, so that reading needs no new descriptor, and unchanged bytes are not decoded again: a follower
/// reads them a hundred times a second. Safe to use from several threads.
final class HeadReader: Sendable {
  private final class OpenFile: Sendable {
    let file: File
    let identity: FileIdentity

    init(_ file: consuming File) throws(JournalError) {
      identity = try file.status().identity
      self.file = file
    }
  }

  /// The mark of the last reading, with the bytes that it was decoded from.
  private struct Seen: Sendable {
    let slots: [UInt8]
    let mark: LogMark
  }

  private let place: LogPlace
  private let open: Lock<OpenFile>
  private let seen = Lock<Seen?>(nil)

  /// - Throws: ``JournalError``: `damaged` if there is no HEAD.
  init(_ place: LogPlace) throws(JournalError) {
    self.place = place
    open = Lock(try Self.openFile(place))
  }

  private static func openFile(_ place: LogPlace) throws(JournalError) -> OpenFile {
    try OpenFile(try place.folder.root.file(HeadFile.name, .reading))
  }

  /// The newest mark.
  /// - Throws: ``JournalError`` with code `damaged` if no slot is whole, or HEAD is another journal's.
  func read() throws(JournalError) -> LogMark {
    var open = open.withLock { $0 }
    // The writer replaces the file if a backup has a hard link to it.
    if try place.folder.root.status(of: HeadFile.name)?.identity != open.identity {
      open = try Self.openFile(place)
      self.open.withLock { $0 = open }
    }
    let slots = try HeadFile.slots(of: open.file)
    if let seen = seen.withLock({ $0 }), seen.slots == slots { return seen.mark }
    // The mark may be decoded from later bytes than `slots`. The next reading then finds that the bytes differ, and
    // decodes them again.
    let mark = try HeadFile.read(open.file, id: place.journal)
    seen.withLock { $0 = Seen(slots: slots, mark: mark) }
    return mark
  }
}
