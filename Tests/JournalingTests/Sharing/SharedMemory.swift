import Dispatch
import Foundation
import Locks
import SHA256
import SharedJournals

@testable import Journaling

/// A shared log in memory, whose connections can be made to fail.
final class SharedMemory: LogSharing, SharedLogStorage {
  /// What goes wrong with an append.
  enum Fault: Sendable {
    /// The connection is lost before anything is stored.
    case lostBefore
    /// Everything is stored, and the connection is lost before the answer.
    case lostAfter
    /// The connection is lost after twice the time for trying again, before anything is stored.
    case lostLate
    /// The storage refuses, and nothing is stored.
    case refused
    /// The storage goes down before anything is stored.
    case downBefore
    /// Everything is stored, and the storage goes down before the answer.
    case downAfter
  }

  struct Contents: Sendable {
    var journal: JournalID?
    var format: [UInt8] = []
    var entries: [SealedEntry] = []
    var images: [Blob: [UInt8]] = [:]
    /// Whether no client can connect. Connected clients have lost their connections.
    var isDown = false
    /// The number of times that all connections were cut.
    var generation = 0
    /// The faults of the next appends; the last element is for the next one.
    var faults: [Fault] = []
    var retryTime = Duration.seconds(20)
    /// Whether appends call what their callers have to do meanwhile. A log may not do so.
    var callsMeanwhile = true
    /// Called in each append after the caller's work, before anything is stored.
    var whenSent: (@Sendable (_ first: Revision) -> Void)?
    /// Called before an image is stored.
    var whenImageArrives: (@Sendable () -> Void)?
    /// Called once, when the next connection is lost in an append.
    var whenLost: (@Sendable () -> Void)?
    /// Why commits wait.
    var warning: String?
    /// The ranges that were read.
    var reads: [ClosedRange<Revision>] = []
    /// How many digests were asked for.
    var digestCount = 0
    var connectionCount = 0
    var listeners: [ObjectIdentifier: NewestRevision] = [:]
    /// The connection that has the turn.
    var turn: ObjectIdentifier?
  }

  let contents = Lock(Contents())

  var address: String { "memory://here" }
  var appendByteCount: Int { 1 << 20 }
  var retryTime: Duration { contents.withLock { $0.retryTime } }

  func storage(at address: String) throws(JournalError) -> any SharedLogStorage { self }

  func journals() throws(JournalError) -> [JournalID] { contents.withLock { $0.journal.map { [$0] } ?? [] } }

  func begin(_ journal: JournalID) throws(JournalError) {
    contents.withLock { if $0.journal == nil { $0.journal = journal } }
  }

  func finish(_ journal: JournalID, format: [UInt8]) throws(JournalError) {
    contents.withLock { $0.format = format }
  }

  func format(of journal: JournalID) throws(JournalError) -> [UInt8] { contents.withLock { $0.format } }

  func connect(to journal: JournalID) throws(JournalError) -> any SharedLog {
    let generation = try contents.withLock { contents throws(JournalError) in
      contents.connectionCount += 1
      if contents.isDown { throw Self.unreachable }
      return contents.generation
    }
    return SharedMemoryLog(self, generation)
  }

  /// Cuts all connections. If `isDown`, no client can connect until the next call.
  func cut(isDown: Bool = false) {
    let listeners = contents.withLock { contents in
      contents.generation += 1
      contents.isDown = isDown
      contents.turn = nil
      return contents.listeners
    }
    for listener in listeners.values { listener.close() }
  }

  /// Called after a connection was lost in an append.
  fileprivate func noteLost() {
    let (isDown, body) = contents.withLock { contents in
      defer { contents.whenLost = nil }
      return (contents.isDown, contents.whenLost)
    }
    if isDown { cut(isDown: true) }
    body?()
  }

  /// Alters a byte of an entry, and not the digest that is stored with it.
  func alter(_ revision: Revision) {
    contents.withLock { contents in
      let entry = contents.entries[revision - 1]
      var bytes = entry.bytes
      bytes[bytes.count - 1] ^= 1
      contents.entries[revision - 1] = SealedEntry(revision: revision, bytes: bytes, digest: entry.digest)
    }
  }

  static let unreachable = JournalError(.unreachable, "the shared memory can't be reached")
}

private final class SharedMemoryLog: SharedLog {
  private let storage: SharedMemory
  private let generation: Int
  private let newest: NewestRevision
  private let isClosed = Lock(false)

  init(_ storage: SharedMemory, _ generation: Int) {
    self.storage = storage
    self.generation = generation
    newest = NewestRevision(storage.contents.withLock { $0.entries.count })
    storage.contents.withLock { $0.listeners[ObjectIdentifier(newest)] = newest }
  }

  deinit { close() }

  private func using<Result: Sendable>(
    _ body: (inout SharedMemory.Contents) throws(JournalError) -> Result
  ) throws(JournalError) -> Result {
    try storage.contents.withLock { contents throws(JournalError) in
      guard contents.generation == generation, !contents.isDown else { throw SharedMemory.unreachable }
      return try body(&contents)
    }
  }

  var durability: Durability {
    Durability(summary: "in memory", warning: storage.contents.withLock { $0.warning })
  }
  func hasImage(_ blob: Blob) throws(JournalError) -> Bool { try using { $0.images[blob] != nil } }

  func addImage(_ blob: Blob, _ piece: () throws(JournalError) -> [UInt8]) throws(JournalError) {
    storage.contents.withLock { $0.whenImageArrives }?()
    var bytes: [UInt8] = []
    while true {
      let next = try piece()
      if next.isEmpty { break }
      bytes += next
    }
    let all = bytes
    try using { $0.images[blob] = all }
  }

  func readImage(
    _ blob: Blob, _ body: ([UInt8]) throws(JournalError) -> Void
  ) throws(JournalError) -> Bool {
    guard let bytes = try using({ $0.images[blob] }) else { return false }
    try body(bytes)
    return true
  }

  func confirm() throws(JournalError) { try using { _ in } }

  func read(
    _ range: ClosedRange<Revision>,
    _ body: (Revision, UnsafeRawBufferPointer) throws(JournalError) -> Bool
  ) throws(JournalError) {
    let entries = try using { contents in
      contents.reads.append(range)
      return contents.entries.filter { range.contains($0.revision) }
    }
    for entry in entries {
      var failure: JournalError?
      let goesOn = unsafe entry.bytes.withUnsafeBytes { bytes in
        do throws(JournalError) { return try unsafe body(entry.revision, bytes) } catch {
          failure = error
          return false
        }
      }
      if let failure { throw failure }
      guard goesOn else { return }
    }
  }

  func newestRevision(after revision: Revision, waitingAtMost time: Duration) throws(JournalError) -> Revision
  {
    let now = try using { $0.entries.count }
    if now > revision || time <= .zero { return now }
    guard let found = newest.wait(after: revision, atMost: time) else { throw SharedMemory.unreachable }
    return found
  }

  func digest(of revision: Revision) throws(JournalError) -> ContentDigest? {
    try using { contents in
      contents.digestCount += 1
      return contents.entries.indices.contains(revision - 1) ? contents.entries[revision - 1].digest : nil
    }
  }

  func reserve(after revision: Revision) throws(JournalError) -> Revision {
    while try !using({ contents throws(JournalError) in
      if contents.turn != nil, contents.turn != ObjectIdentifier(self) { return false }
      contents.turn = ObjectIdentifier(self)
      return true
    }) { usleep(500) }
    return try newestRevision()
  }

  func release() {
    storage.contents.withLock { if $0.turn == ObjectIdentifier(self) { $0.turn = nil } }
  }

  func append(
    _ entries: [SealedEntry], after revision: Revision, meanwhile: () -> Void
  ) throws(AppendFailure) {
    if storage.contents.withLock({ $0.callsMeanwhile }) { meanwhile() }
    storage.contents.withLock { $0.whenSent }?(revision + 1)
    if storage.contents.withLock({ $0.faults.last }) == .lostLate {
      _ = DispatchSemaphore(value: 0).wait(timeout: .now() + (storage.retryTime * 2).timeInterval)
    }
    while true {
      let outcome: Result<[NewestRevision]?, AppendFailure> = storage.contents.withLock { contents in
        guard contents.generation == generation, !contents.isDown else {
          return .failure(.unknown(SharedMemory.unreachable))
        }
        if contents.turn != nil, contents.turn != ObjectIdentifier(self) { return .success(nil) }
        contents.turn = nil
        let fault = contents.faults.popLast()
        if fault == .refused { return .failure(.refused(JournalError(.io, "the shared memory refused"))) }
        if fault == .downBefore || fault == .downAfter { contents.isDown = true }
        if fault == .lostBefore || fault == .lostLate || fault == .downBefore {
          return .failure(.unknown(SharedMemory.unreachable))
        }
        let before = try? entries.first?.previousDigest()
        guard contents.entries.count == revision, revision == 0 || contents.entries.last?.digest == before
        else {
          return .failure(.conflict(newest: contents.entries.count))
        }
        contents.entries += entries
        if fault == .lostAfter || fault == .downAfter { return .failure(.unknown(SharedMemory.unreachable)) }
        return .success(Array(contents.listeners.values))
      }
      if case .failure(.unknown) = outcome { storage.noteLost() }
      guard let listeners = try outcome.get() else {
        usleep(500)
        continue
      }
      for listener in listeners { listener.raise(to: revision + entries.count) }
      return
    }
  }

  func close() {
    release()
    newest.close()
    storage.contents.withLock { $0.listeners[ObjectIdentifier(newest)] = nil }
  }
}
