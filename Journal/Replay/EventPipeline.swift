import Locks

/// Reads the entries of a range on one thread, and passes their events to a closure on another one, for example to
/// apply them to a state. The thread that has less to do decodes and checks the events.
enum EventPipeline {
  /// Below this many entries, a second thread does not pay off.
  static let smallCount = 256
  private static let chunksAhead = 4

  /// Calls `apply` with each event in order, on the calling thread.
  /// - Parameter bases: the bases of the state's tables, from which the entities of the events are read ahead.
  /// - Throws: ``JournalError`` from reading or applying, whichever comes first in the log.
  @discardableResult
  static func run(
    _ log: any EntryLog, _ range: ClosedRange<Revision>, _ upcast: EventUpcast,
    over bases: [(any EntityBase)?] = [],
    _ apply: (JournalEvent, Revision) throws(JournalError) -> Void
  ) throws(JournalError) -> EventTally {
    var applied = EventTally()
    func applyAll(_ chunk: EventChunk) throws(JournalError) {
      applied.byteCount += chunk.byteCount
      let (events, erasure, failure) = chunk.events(upcast)
      applied.newestErasure = max(applied.newestErasure, erasure)
      let ahead = EntitiesAhead.start(events.map(\.event.entity), in: bases)
      defer { ahead?.end() }
      for (event, revision) in events {
        try apply(event, revision)
        applied.count += 1
        if event.operation == .add { applied.additionCount += 1 }
        ahead?.advance()
      }
      if let failure { throw failure }
    }
    let queue = BoundedQueue<EventChunk>(capacity: chunksAhead)
    // Without a second thread, this thread reads and applies.
    guard range.count >= smallCount,
      Threads.start({
        queue.fill { () throws(JournalError) in
          try read(log, range, upcast, decodes: { queue.count > chunksAhead / 2 }) {
            chunk throws(JournalError) in try queue.send(chunk)
          }
        }
      })
    else {
      try read(log, range, upcast, decodes: { true }, applyAll)
      return applied
    }
    // Ends the reader whenever this function ends.
    defer { queue.cancel() }
    while let chunk = try queue.receive() { try applyAll(chunk) }
    return applied
  }

  /// Reads entries and passes them on in chunks. At a fault, the entries before it are passed on first.
  /// - Parameter decodes: whether the reader decodes the next chunk. A large entry is always decoded, because copying
  ///   it would take much memory.
  private static func read(
    _ log: any EntryLog, _ range: ClosedRange<Revision>, _ upcast: EventUpcast, decodes: () -> Bool,
    _ pass: (EventChunk) throws(JournalError) -> Void
  ) throws(JournalError) {
    var chunk = EventChunk()
    var isDecoding = decodes()
    do throws(JournalError) {
      try log.readAll(range) { entry throws(JournalError) in
        if !isDecoding, chunk.add(copyOf: entry) {
          guard chunk.isFull else { return }
          try pass(chunk.take())
        } else {
          if chunk.hasCopies { try pass(chunk.take()) }
          var events = try entry.events()
          if try entry.recordsErasure(events) { chunk.newestErasure = entry.revision }
          while let event = try events.next(upcast) {
            chunk.add((event, entry.revision))
            if chunk.isFull { try pass(chunk.take()) }
          }
          guard chunk.isEmpty else { return }
        }
        isDecoding = decodes()
      }
    } catch {
      try pass(chunk)
      throw error
    }
    try pass(chunk)
  }
}

/// Events in the order of the log, or copies of the entries that have them.
private struct EventChunk: Sendable {
  typealias RevisedEvent = (event: JournalEvent, revision: Revision)

  private static let eventCount = 512
  private static let fullByteCount = 128 << 10

  private var decoded: [RevisedEvent] = []
  /// The number of bytes of the payloads in `decoded`. Without a limit, a few hundred large records would fill memory.
  private var payloadByteCount = 0
  private var bytes: [UInt8] = []
  /// The revision of each copied entry, and where it ends in `bytes`.
  private var copies: [(revision: Revision, end: Int)] = []
  /// The newest decoded entry that records an erasure; 0 if there is none.
  var newestErasure: Revision = 0

  var isEmpty: Bool { decoded.isEmpty && copies.isEmpty }
  var hasCopies: Bool { !copies.isEmpty }
  /// The bytes of the payloads, or of the entries.
  var byteCount: Int { payloadByteCount + bytes.count }
  var isFull: Bool {
    decoded.count >= Self.eventCount || payloadByteCount >= Self.fullByteCount
      || bytes.count >= Self.fullByteCount
  }

  mutating func add(_ event: RevisedEvent) {
    if decoded.isEmpty { decoded.reserveCapacity(Self.eventCount) }
    decoded.append(event)
    payloadByteCount += event.event.payload.count
  }

  /// Adds a copy of an entry, unless the entry is too large or follows decoded events; then it returns false.
  mutating func add(copyOf entry: EntryDecoder) -> Bool {
    guard entry.byteCount <= Self.fullByteCount, decoded.isEmpty else { return false }
    if copies.isEmpty { bytes.reserveCapacity(Self.fullByteCount + entry.byteCount) }
    entry.appendBytes(to: &bytes)
    copies.append((entry.revision, bytes.count))
    return true
  }

  mutating func take() -> EventChunk {
    let full = self
    self = EventChunk()
    return full
  }

  /// All events, or those before the first fault and the fault; and the newest entry that records an erasure.
  func events(
    _ upcast: EventUpcast
  ) -> ([RevisedEvent], newestErasure: Revision, failure: JournalError?) {
    var (events, newestErasure) = (decoded, newestErasure)
    do throws(JournalError) {
      try unsafe bytes.span.bytes.withUnsafeBytes { bytes throws(JournalError) in
        var start = 0
        for copy in copies {
          let entry = unsafe EntryDecoder(
            UnsafeRawBufferPointer(rebasing: bytes[start..<copy.end]), revision: copy.revision)
          var decoder = try entry.events()
          if try entry.recordsErasure(decoder) { newestErasure = copy.revision }
          while let event = try decoder.next(upcast) { events.append((event, copy.revision)) }
          start = copy.end
        }
      }
    } catch {
      return (events, newestErasure, error)
    }
    return (events, newestErasure, nil)
  }
}
