import Files
import Locks

/// The file HEAD, which names the newest acknowledged entry (``EntryLog/acknowledged()``).
///
/// LevelDB opens silently if its log was cut or deleted; HEAD shows that entries are missing. It may lag behind the log
/// (it is flushed about every second), but is never ahead of it.
///
/// 1. The file has three slots. One has the newest mark that the drive has confirmed, and is not overwritten. A second
///    may be in a flush. New marks go to the third. So a power loss always leaves one slot intact.
/// 2. Marking never waits for a flush.
/// 3. The file has one name. A second name is a hard link in a copy that was made while the journal was closed, and the
///    copy must not change. So before the next entry is stored, a new file with the same mark replaces this one
///    (``prepare()``). Without descriptors for the new file, the entry is refused. A link that is made while an entry
///    is stored is found before the next entry. Only HEAD is protected: LevelDB extends its log and its manifest in
///    place until the journal is opened again.
///
/// Safe to use from several threads.
final class HeadFile: Sendable {
  /// A slot: 8 bytes "JRNLHEAD", journal id (16), revision (8), digest (32), CRC-32C of these 64 (4), zeros
  /// up to the next page, so that no sector belongs to two slots.
  private enum Slot {
    static let magic = Array("JRNLHEAD".utf8)
    static let byteCount = 68
    static let stride = 4096
    static let count = 3
  }

  /// The open file, shared by the threads that use it.
  final class OpenFile: Sendable {
    let file: File
    init(_ file: consuming File) { self.file = file }

    convenience init(_ folder: JournalFolder) throws(JournalError) {
      self.init(try folder.root.file(HeadFile.name, .reading))
    }

    /// Reads the newest mark, even while another process writes one.
    /// - Throws: ``JournalError`` with code `damaged` if no slot is intact, or HEAD is another journal's.
    func mark(id: JournalID) throws(JournalError) -> LogMark { try readSlots(file, id: id).mark }
  }

  private struct State: Sendable {
    let slotCount: Int
    var open: OpenFile
    var newest: LogMark
    /// Whether replacing the file has begun, so that the open file may have no name any more.
    var isReplaced = false
    /// The slot of the newest confirmed mark.
    var durable: Int
    /// The slot that a flush in progress may confirm.
    var flushing: Int?
    /// The slot of the marks since the last flush began; nil if there are none.
    var current: Int?
    /// Why marking has ended: after a failure, the contents of the file are unknown.
    var failure: JournalError?

    mutating func slot() -> Int {
      let slot = current ?? (0..<slotCount).first { $0 != durable && $0 != flushing } ?? 0
      current = slot
      return slot
    }
  }

  static let name = "HEAD"

  /// The mark that the file had when it was opened.
  let found: LogMark
  private let id: JournalID
  private let folder: Folder
  private let state: Lock<State>
  /// Held during a flush.
  private let flushLock = Lock(())

  static func create(_ folder: JournalFolder, _ format: JournalFormat) throws(JournalError) {
    let head = format.head
    try folder.root.write(
      name, contents(LogMark(revision: head.revision, digest: head.digest), id: format.id))
    try folder.root.flush()
  }

  /// The newest mark. See ``OpenFile/mark(id:)``.
  static func read(_ folder: JournalFolder, id: JournalID) throws(JournalError) -> LogMark {
    try OpenFile(folder).mark(id: id)
  }

  /// - Parameter slotCount: lower in a test that shows that fewer slots are not enough.
  init(_ folder: JournalFolder, id: JournalID, slotCount: Int = Slot.count) throws(JournalError) {
    var file = try folder.root.file(Self.name, .updating)
    var (mark, slot) = try Self.readSlots(file, id: id)
    if try file.byteCount() == Slot.count * Slot.stride {
      // A killed process may have left marks that are not flushed yet.
      try file.flush()
    } else {
      // The file was truncated. A mark written in place would not restore the zeros, so the file is replaced.
      try folder.root.write(Self.name, Self.contents(mark, id: id))
      try folder.root.flush()
      file = try folder.root.file(Self.name, .updating)
      slot = 0
    }
    self.id = id
    self.folder = folder.root
    found = mark
    state = Lock(State(slotCount: slotCount, open: OpenFile(file), newest: mark, durable: slot))
  }

  func check() throws(JournalError) {
    if let failure = state.withLock({ $0.failure }) { throw failure }
  }

  /// Replaces the file if it has a second name, or no name any more. Called before the entry of the next mark is stored.
  /// - Throws: ``JournalError``; if its code is `outOfResources`, a later call may succeed.
  func prepare() throws(JournalError) {
    try state.withLock { state throws(JournalError) in
      if let failure = state.failure { throw failure }
      do throws(JournalError) {
        let hasOneName = try state.open.file.status().linkCount == 1
        if !hasOneName || state.isReplaced { try replace(&state) }
      } catch {
        if error.code != .outOfResources { state.failure = error }
        throw error
      }
    }
  }

  /// Marks the newest acknowledged entry. The next ``flush()`` makes it durable.
  func mark(_ mark: LogMark) throws(JournalError) {
    try state.withLock { state throws(JournalError) in
      if let failure = state.failure { throw failure }
      do throws(JournalError) {
        let offset = state.slot() * Slot.stride
        try unsafe Self.encode(mark, id: id).lend { bytes throws(JournalError) in
          try unsafe state.open.file.write(bytes, at: offset)
        }
        state.newest = mark
      } catch {
        state.failure = error
        throw error
      }
    }
  }

  private func replace(_ state: inout State) throws(JournalError) {
    state.isReplaced = true
    try folder.write(Self.name, Self.contents(state.newest, id: id))
    do throws(JournalError) { try folder.flush() } catch {
      // After a failed flush, a second one can't be trusted, whatever the cause.
      state.failure = error
      throw error
    }
    // A flush in progress concerns the old file, and confirms nothing in the new one.
    state = State(
      slotCount: state.slotCount, open: OpenFile(try folder.file(Self.name, .updating)),
      newest: state.newest, durable: 0)
  }

  /// Returns when the drive has confirmed the newest mark.
  func flush() throws(JournalError) {
    try flushLock.withLock { _ throws(JournalError) in
      let open = try state.withLock { state throws(JournalError) -> OpenFile? in
        if let failure = state.failure { throw failure }
        guard let current = state.current else { return nil }
        state.flushing = current
        state.current = nil
        return state.open
      }
      guard let open else { return }
      do throws(JournalError) { try open.file.flush() } catch {
        // After a failed flush the system may drop the data and report success, so a second flush can't be trusted.
        state.withLock { $0.failure = error }
        throw error
      }
      state.withLock { state in
        guard state.open === open, let flushed = state.flushing else { return }
        state.durable = flushed
        state.flushing = nil
      }
    }
  }

  // MARK: Bytes

  /// The bytes of a file whose first slot has the mark.
  private static func contents(_ mark: LogMark, id: JournalID) -> [UInt8] {
    let slot = encode(mark, id: id)
    return slot + [UInt8](repeating: 0, count: Slot.count * Slot.stride - slot.count)
  }

  private static func encode(_ mark: LogMark, id: JournalID) -> [UInt8] {
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
    _ file: borrowing File, id: JournalID
  ) throws(JournalError) -> (mark: LogMark, slot: Int) {
    var found = try FoundSlots(file, id: id)
    // A slot that another process is writing is torn for less than a microsecond. One that stays torn is from a power
    // loss.
    for _ in 0..<10 where found.hasTorn { found = try FoundSlots(file, id: id) }
    if let newest = found.newest { return newest }
    throw JournalError(
      .damaged,
      found.hasForeign
        ? "HEAD belongs to another journal; restore this journal's own from a backup"
        : "HEAD is damaged, so it can't be told whether entries are missing; restore it from a backup",
      path: file.path)
  }

  private struct FoundSlots {
    var newest: (mark: LogMark, slot: Int)?
    var hasForeign = false
    /// Whether a slot is torn: it was written, but is not whole.
    var hasTorn = false

    init(_ file: borrowing File, id: JournalID) throws(JournalError) {
      for slot in 0..<Slot.count {
        let bytes = try file.piece(at: slot * Slot.stride, byteCount: Slot.byteCount)
        guard bytes.count == Slot.byteCount else { continue }
        let checksum = bytes.suffix(4).reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        guard CRC32C.checksum(bytes.dropLast(4)) == checksum, bytes.starts(with: Slot.magic) else {
          if bytes.contains(where: { $0 != 0 }) { hasTorn = true }
          continue
        }
        guard Array(bytes[8..<24]) == id.bytes else {
          hasForeign = true
          continue
        }
        let number = bytes[24..<32].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        guard let revision = Revision(exactly: number),
          let digest = ContentDigest(bytes: Array(bytes[32..<64]))
        else { continue }
        if newest.map({ revision > $0.mark.revision }) ?? true {
          newest = (LogMark(revision: revision, digest: digest, path: file.path), slot)
        }
      }
    }
  }
}
