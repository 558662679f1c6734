import Locks

/// Reads the events of a range on one thread while another checks and applies them, because both take about as long.
enum EventPipeline {
  /// Below this many entries, a second thread does not pay off.
  static let smallCount = 256
  private static let chunkCount = 512
  private static let chunksAhead = 4

  /// Calls `apply` with each event in order, on the calling thread.
  /// - Parameter bases: what backs the state to which the events are applied; its entities are read ahead.
  /// - Throws: ``JournalError``: what reading or applying throws, whichever comes first in the log.
  static func run(
    _ log: any EntryLog, _ range: ClosedRange<Revision>, _ upcast: EventUpcast,
    over bases: [(any EntityBase)?] = [],
    _ apply: (JournalEvent, Revision) throws(JournalError) -> Void
  ) throws(JournalError) {
    func applyAll(_ chunk: [UncheckedEvent]) throws(JournalError) {
      let ahead = EntitiesAhead.start(chunk.map(\.entity), in: bases)
      defer { ahead?.end() }
      for event in chunk {
        try apply(try event.checked(upcast), event.revision)
        ahead?.advance()
      }
    }
    let queue = BoundedQueue<[UncheckedEvent]>(capacity: chunksAhead)
    // Without a second thread, one thread reads and applies.
    guard range.count >= smallCount,
      Threads.start({
        queue.fill { () throws(JournalError) in
          try read(log, range) { chunk throws(JournalError) in try queue.send(chunk) }
        }
      })
    else { return try read(log, range, applyAll) }
    // Ends the reader whenever this function ends.
    defer { queue.cancel() }
    while let chunk = try queue.receive() { try applyAll(chunk) }
  }

  /// Reads events and passes them on in chunks. Those before a fault are passed on first.
  private static func read(
    _ log: any EntryLog, _ range: ClosedRange<Revision>,
    _ pass: ([UncheckedEvent]) throws(JournalError) -> Void
  ) throws(JournalError) {
    var chunk: [UncheckedEvent] = []
    func passChunk() throws(JournalError) {
      let full = chunk
      chunk = []
      try pass(full)
    }
    do throws(JournalError) {
      try log.readAll(range) { entry throws(JournalError) in
        var events = try entry.events()
        while let event = try events.nextUnchecked() {
          if chunk.isEmpty { chunk.reserveCapacity(chunkCount) }
          chunk.append(event)
          if chunk.count == chunkCount { try passChunk() }
        }
      }
    } catch {
      try passChunk()
      throw error
    }
    try passChunk()
  }
}
