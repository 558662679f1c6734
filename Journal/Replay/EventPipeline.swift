import Locks

/// Reads the events of a range on one thread while another checks and applies them, because both take about as long.
enum EventPipeline {
  /// Below this many entries, a second thread does not pay off.
  static let smallCount = 256
  private static let chunkCount = 512
  private static let chunksAhead = 4

  /// Calls `apply` with each event in order, on the calling thread.
  /// - Throws: ``JournalError``: what reading or applying throws, whichever comes first in the log.
  static func run(
    _ log: any EntryLog, _ range: ClosedRange<Revision>, _ upcast: EventUpcast,
    _ apply: (JournalEvent, Revision) throws(JournalError) -> Void
  ) throws(JournalError) {
    let queue = BoundedQueue<[UncheckedEvent]>(capacity: chunksAhead)
    // Without a second thread, one thread reads and applies.
    guard range.count >= smallCount, Threads.start({ fill(queue, from: log, range, upcast) }) else {
      try log.readAll(range) { entry throws(JournalError) in
        var events = try entry.events()
        while let event = try events.next(upcast) { try apply(event, entry.revision) }
      }
      return
    }
    // Ends the reader whenever this function ends.
    defer { queue.cancel() }
    while let chunk = try queue.receive() {
      for event in chunk { try apply(try event.checked(upcast), event.revision) }
    }
  }

  private static func fill(
    _ queue: BoundedQueue<[UncheckedEvent]>, from log: any EntryLog, _ range: ClosedRange<Revision>,
    _ upcast: EventUpcast
  ) {
    var chunk: [UncheckedEvent] = []
    chunk.reserveCapacity(chunkCount)
    queue.fill { () throws(JournalError) in
      do throws(JournalError) {
        try log.readAll(range) { entry throws(JournalError) in
          var events = try entry.events()
          while let event = try events.nextUnchecked() {
            chunk.append(event)
            if chunk.count == chunkCount {
              try queue.send(chunk)
              chunk.removeAll()
              chunk.reserveCapacity(chunkCount)
            }
          }
        }
      } catch {
        // The events before the fault are applied first.
        try? queue.send(chunk)
        throw error
      }
      try queue.send(chunk)
    }
  }
}
