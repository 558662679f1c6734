import Dispatch
import Locks

/// Reads the events of a range on one thread while another checks and applies them, because both take about as long.
enum EventPipeline {
  /// Below this many entries a second thread does not pay off.
  private static let smallCount = 256

  /// Calls `apply` with each event in order, on the calling thread.
  /// - Throws: ``JournalError``: what reading or applying throws, whichever comes first in the log.
  static func run(
    _ log: any EntryLog, _ range: ClosedRange<Revision>, _ upcast: EventUpcast,
    _ apply: (JournalEvent, Revision) throws(JournalError) -> Void
  ) throws(JournalError) {
    let channel = EventChannel()
    // Without a second thread, one thread reads and applies.
    guard range.count >= smallCount, Threads.start({ channel.fill(from: log, range, upcast) }) else {
      try log.readAll(range) { entry throws(JournalError) in
        var events = try entry.events(upcast)
        while let event = try events.next() { try apply(event, entry.revision) }
      }
      return
    }
    // Ends the reader whenever this function ends.
    defer { channel.cancel() }
    while let chunk = try channel.receive() {
      for event in chunk { try apply(try event.checked(upcast), event.revision) }
    }
  }
}

/// A bounded queue of chunks of events from the reading thread to the applying one.
private final class EventChannel: Sendable {
  private static let chunkCount = 512
  private static let chunksAhead = 4

  private struct State: Sendable {
    var chunks: [[UncheckedEvent]] = []
    var error: JournalError?
    var isFinished = false
    var isCancelled = false
  }

  private let state = Lock(State())
  private let free = DispatchSemaphore(value: EventChannel.chunksAhead)
  private let filled = DispatchSemaphore(value: 0)

  func fill(from log: any EntryLog, _ range: ClosedRange<Revision>, _ upcast: EventUpcast) {
    var chunk: [UncheckedEvent] = []
    chunk.reserveCapacity(Self.chunkCount)
    do throws(JournalError) {
      try log.readAll(range) { entry throws(JournalError) in
        var events = try entry.events(upcast)
        while let event = try events.nextUnchecked() {
          chunk.append(event)
          if chunk.count == Self.chunkCount {
            try send(chunk)
            chunk.removeAll()
            chunk.reserveCapacity(Self.chunkCount)
          }
        }
      }
      try send(chunk)
      finish(nil)
    } catch {
      // The events before the fault are applied first.
      try? send(chunk)
      finish(error)
    }
  }

  private func send(_ chunk: [UncheckedEvent]) throws(JournalError) {
    free.wait()
    let isCancelled = state.withLock { state in
      state.chunks.append(chunk)
      return state.isCancelled
    }
    filled.signal()
    if isCancelled { throw JournalError(.closed, "the replay was cancelled") }
  }

  private func finish(_ error: JournalError?) {
    state.withLock { state in
      state.error = error
      state.isFinished = true
    }
    filled.signal()
  }

  /// The next chunk, nil after the last.
  func receive() throws(JournalError) -> [UncheckedEvent]? {
    filled.wait()
    let (chunk, error): ([UncheckedEvent]?, JournalError?) = state.withLock { state in
      if !state.chunks.isEmpty { return (state.chunks.removeFirst(), nil) }
      return (nil, state.error)
    }
    if let error { throw error }
    if chunk != nil { free.signal() }
    return chunk
  }

  /// Ends the reader. Called when the receiver has ended.
  func cancel() {
    state.withLock { state in
      state.isCancelled = true
      state.chunks = []
    }
    free.signal()
  }
}
