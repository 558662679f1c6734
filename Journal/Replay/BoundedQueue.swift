import Dispatch
import Locks

/// A bounded queue between two threads, so that the sender works ahead of the receiver.
///
/// Safe to use from any thread, by one sender and one receiver.
package final class BoundedQueue<Element: Sendable>: Sendable {
  private struct State: Sendable {
    var elements: [Element] = []
    var error: JournalError?
    var isCancelled = false
  }

  private let state = Lock(State())
  // Begins at 0, because Dispatch ends the process if a semaphore is destroyed while it is below its first value, as it
  // can be after a cancellation.
  private let free = DispatchSemaphore(value: 0)
  private let filled = DispatchSemaphore(value: 0)

  /// - Parameter capacity: how many elements can wait for the receiver.
  package init(capacity: Int) { for _ in 0..<capacity { free.signal() } }

  /// How many elements wait for the receiver.
  var count: Int { state.withLock { $0.elements.count } }

  /// Runs `body`, which calls ``send(_:)``, and ends the queue. After all elements, the receiver gets the error of
  /// `body`.
  package func fill(_ body: () throws(JournalError) -> Void) {
    do throws(JournalError) { try body() } catch { state.withLock { $0.error = error } }
    filled.signal()
  }

  /// Waits until there is room.
  /// - Throws: ``JournalError`` with code `closed` if the receiver has cancelled.
  package func send(_ element: Element) throws(JournalError) {
    free.wait()
    let isCancelled = state.withLock { state in
      state.elements.append(element)
      return state.isCancelled
    }
    filled.signal()
    guard isCancelled else { return }
    // Without this signal, the next call would wait for a receiver that has ended.
    free.signal()
    throw JournalError(.closed, "the receiver has ended")
  }

  /// Waits for the next element; nil after the last. Throws the error that ended the sender.
  package func receive() throws(JournalError) -> Element? {
    filled.wait()
    let (element, error): (Element?, JournalError?) = state.withLock { state in
      if !state.elements.isEmpty { return (state.elements.removeFirst(), nil) }
      return (nil, state.error)
    }
    if let error { throw error }
    if element != nil { free.signal() }
    return element
  }

  /// Makes the sender's current or next ``send(_:)`` fail. Called when the receiver has ended.
  package func cancel() {
    state.withLock { state in
      state.isCancelled = true
      state.elements = []
    }
    free.signal()
  }
}
