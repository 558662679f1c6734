import Foundation
import LevelDB
import Locks

/// HEAD: which entry was the newest one acknowledged.
///
/// LevelDB opens in silence when its log was cut or deleted; this file is what tells that entries are gone.
/// It has two slots, written in turn, so that a torn write leaves the other. It may lag behind the log (it is
/// flushed about every second), never be ahead of it.
///
/// Safe to use from several threads.
final class HeadMarker: Sendable {
  /// What a slot says.
  struct Mark: Hashable {
    let revision: Revision
    let digest: Digest
  }

  /// A slot: 8 bytes "JRNLHEAD", journal id (16), revision (8), digest (32), CRC-32C of these 64 (4), zeros
  /// up to the next sector, so that one torn sector can't take both slots.
  private enum Slot {
    static let magic = Array("JRNLHEAD".utf8)
    static let byteCount = 68
    static let stride = 4096
  }

  private struct State: ~Copyable {
    var file: File
    /// The slot that is written next: never the one that holds the newest mark.
    var next: Int
    var isFlushed: Bool
  }

  private let id: JournalID
  private let state: Lock<State>

  /// Makes the file of a new journal.
  static func create(_ folder: JournalFolder, id: JournalID) throws(JournalError) {
    var contents = [UInt8](repeating: 0, count: 2 * Slot.stride)
    for (index, byte) in encode(Mark(revision: 0, digest: .zero), id: id).enumerated() {
      contents[index] = byte
    }
    try Folder.writeFile(folder.head, contents, in: folder.path, hook: folder.hook)
  }

  /// Reads the newest mark.
  /// - Throws: ``JournalError`` with code `damaged` when no slot is whole, or HEAD is another journal's.
  static func read(_ folder: JournalFolder, id: JournalID) throws(JournalError) -> Mark {
    try readSlots(File(folder.head, .reading), folder, id: id).mark
  }

  /// Opens HEAD for marking, and notes the newest entry, which a crash can have kept from it.
  init(_ folder: JournalFolder, id: JournalID, newest: Mark) throws(JournalError) {
    let file = try File(folder.head, .updating, hook: folder.hook)
    let found = try Self.readSlots(file, folder, id: id)
    self.id = id
    state = Lock(State(file: file, next: 1 - found.slot, isFlushed: true))
    if newest.revision > found.mark.revision { try mark(newest) }
  }

  /// Notes the newest acknowledged entry. It reaches the drive with the next ``flush()``.
  func mark(_ mark: Mark) throws(JournalError) {
    try state.withLock { state throws(JournalError) in
      let slot = Self.encode(mark, id: id)
      var failure: JournalError?
      unsafe slot.withUnsafeBytes { bytes in
        do throws(JournalError) {
          try unsafe state.file.write(bytes, at: state.next * Slot.stride)
        } catch { failure = error }
      }
      if let failure { throw failure }
      state.next = 1 - state.next
      state.isFlushed = false
    }
  }

  /// Returns when the drive has confirmed the newest mark.
  func flush() throws(JournalError) {
    try state.withLock { state throws(JournalError) in
      if state.isFlushed { return }
      try state.file.synchronize()
      state.isFlushed = true
    }
  }

  private static func encode(_ mark: Mark, id: JournalID) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(Slot.byteCount)
    bytes += Slot.magic
    bytes += id.bytes
    bytes.append(bigEndian: UInt64(mark.revision))
    unsafe mark.digest.withUnsafeBytes { unsafe bytes.append(contentsOf: $0) }
    bytes.append(bigEndian: CRC32C.checksum(bytes))
    return bytes
  }

  private static func readSlots(
    _ file: borrowing File, _ folder: JournalFolder, id: JournalID
  ) throws(JournalError) -> (mark: Mark, slot: Int) {
    let contents = try file.contents(limit: 2 * Slot.stride)
    var newest: (mark: Mark, slot: Int)?
    var isForeign = false
    for slot in 0..<2 where contents.count >= slot * Slot.stride + Slot.byteCount {
      let bytes = contents[slot * Slot.stride..<slot * Slot.stride + Slot.byteCount]
      let start = bytes.startIndex
      let checksum = bytes.suffix(4).reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
      guard CRC32C.checksum(bytes.dropLast(4)) == checksum, bytes.starts(with: Slot.magic) else { continue }
      guard Array(bytes[start + 8..<start + 24]) == id.bytes else {
        isForeign = true
        continue
      }
      let number = bytes[start + 24..<start + 32].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
      guard let revision = Revision(exactly: number),
        let digest = Digest(bytes: Array(bytes[start + 32..<start + 64]))
      else { continue }
      if newest.map({ revision > $0.mark.revision }) ?? true {
        newest = (Mark(revision: revision, digest: digest), slot)
      }
    }
    if let newest { return newest }
    throw JournalError(
      .damaged,
      isForeign
        ? "HEAD belongs to another journal; put this journal's own back from a backup"
        : "HEAD is damaged, so it can't be told whether entries are missing; put it back from a backup",
      path: folder.head)
  }
}
