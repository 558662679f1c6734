import CLibPQ
import Dispatch
import Foundation
import Journaling
import Locks

/// A connection to a server. Only this type and ``Rows`` call libpq.
///
/// 1. One statement runs at a time. Others wait.
/// 2. The time limit of a call applies to each wait until the server sends or accepts bytes: a paused server is treated
///    as unreachable, and a slow network is not.
/// 3. A lost connection stays lost. Nothing is resent automatically, because the outcome of the statement is unknown.
/// 4. Warnings of the server are counted, and errors are thrown. Nothing is printed, except libpq's own warning about a
///    password file that other users may read.
///
/// Safe to use from any thread.
@safe
final class Connection: Sendable {
  /// A statement. If it has a name, the server parses it only once for each connection.
  struct Statement: Sendable, ExpressibleByStringInterpolation {
    let name: String?
    let text: String

    init(name: String?, text: String) { (self.name, self.text) = (name, text) }
    init(stringLiteral text: String) { self.init(name: nil, text: text) }
  }

  /// A value in a statement, in the binary form of its type.
  struct Parameter: Sendable {
    let type: UInt32
    let bytes: [UInt8]
  }

  /// The rows of a statement that was sent ahead (``send(_:_:within:)``).
  final class Answer: Sendable {
    fileprivate let received = Lock<Result<Rows, ServerFailure>?>(nil)
  }

  private struct State: Sendable {
    var prepared: Set<String> = []
    var isLost = false
    /// The answer to the statement that was sent ahead; nil if none is outstanding.
    var pending: Answer?
  }

  /// The process id of the session, as reported by the server, or by the pooler that accepted the connection.
  let processID: Int
  /// The random mark of this connection's session (``ServerAddress/connect()``).
  let marker = String(UInt64.random(in: 0 ... .max), radix: 16)
  // Safe to share: the handle is used only while `state` is locked, and is valid until `deinit`.
  private nonisolated(unsafe) let handle: OpaquePointer
  private let state = Lock(State())
  /// Counts the server's warnings, which libpq passes to it.
  private let warnings = WarningCounter()
  /// A second descriptor of the socket, because libpq closes its own when the server ends the connection, and another
  /// file may then get that number.
  private let socket: Int32

  /// Connects with these settings and those that libpq finds in the environment, service files and password files.
  /// libpq tries one host after the other, each for the time of `connect_timeout`. The setting `dbname` is only a name:
  /// libpq does not expand it as another connection string, which may have a password.
  /// - Throws: ``ServerFailure`` of kind `lost`.
  init(_ settings: [(name: String, value: String)]) throws(ServerFailure) {
    guard let handle = unsafe Self.withPointers(settings, { unsafe PQconnectStartParams($0, $1, 0) }) else {
      throw ServerFailure(.lost, "there is no memory for a connection")
    }
    unsafe self.handle = unsafe handle
    // The receiver is set before the server can send a warning, which libpq would print.
    unsafe PQsetNoticeReceiver(
      handle,
      { context, notice in
        // Field R is the server's function that sent the notice.
        let function = unsafe PQresultErrorField(notice, Int32(UInt8(ascii: "R"))).map {
          unsafe String(cString: $0)
        }
        unsafe Unmanaged<WarningCounter>.fromOpaque(context!).takeUnretainedValue().add(from: function ?? "")
      },
      // The counter lives as long as the connection.
      Unmanaged.passUnretained(warnings).toOpaque())
    unsafe Self.finishConnecting(handle)
    guard unsafe PQstatus(handle) == CONNECTION_OK else {
      let failure = ServerFailure(connecting: unsafe Self.message(handle))
      unsafe PQfinish(handle)
      throw failure
    }
    let socket = fcntl(unsafe PQsocket(handle), F_DUPFD_CLOEXEC, 0)
    // The socket is checked while not all properties are set, so that a failure does not run `deinit`.
    guard socket >= 0 else {
      unsafe PQfinish(handle)
      throw ServerFailure(.lost, "this process has too many open files")
    }
    self.socket = socket
    processID = Int(unsafe PQbackendPID(handle))
    unsafe PQsetnonblocking(handle, 1)
  }

  /// Connects or fails as `PQconnectdbParams` does. Only libpq's blocking functions can try the next address if one
  /// does not answer. So an attempt that takes too long is replaced by `PQreset`, which blocks and keeps the receiver
  /// of warnings.
  private static func finishConnecting(_ handle: OpaquePointer) {
    // Two seconds are enough for a login. If the first of several addresses does not answer, they add to its timeout.
    let deadline = DispatchTime.now() + 2
    var next = PGRES_POLLING_WRITING
    while unsafe PQstatus(handle) != CONNECTION_BAD {
      let events: Int16
      switch next {
      case PGRES_POLLING_READING: events = Int16(POLLIN)
      case PGRES_POLLING_WRITING: events = Int16(POLLOUT)
      default: return
      }
      guard unsafe Self.wait(PQsocket(handle), events, until: deadline) else {
        unsafe PQreset(handle)
        return
      }
      next = unsafe PQconnectPoll(handle)
    }
  }

  deinit {
    unsafe PQfinish(handle)
    close(socket)
  }

  /// Parses a libpq connection string: a URL, or words such as `host=…`.
  /// - Returns: the settings, in libpq's order, and whether libpq marks each as secret; nil if the text is invalid. The
  ///   reason is dropped, because libpq repeats parts of the text in it.
  static func settings(in text: String) -> [(name: String, value: String, isSecret: Bool)]? {
    unsafe settings(in: PQconninfoParse(text, nil))
  }

  /// Returns these settings, and those of the environment and service files.
  ///
  /// libpq reads the environment and service files only to connect, so this begins to connect to an address that no
  /// host has. Nothing is sent.
  static func allSettings(_ settings: [(name: String, value: String)]) -> [(name: String, value: String)] {
    // With a password, libpq does not read the password file.
    let nowhere = settings + [("hostaddr", "nowhere"), ("password", "none")]
    let handle = unsafe withPointers(nowhere) { unsafe PQconnectStartParams($0, $1, 0) }
    defer { unsafe PQfinish(handle) }
    return unsafe (Self.settings(in: PQconninfo(handle)) ?? []).map { ($0.name, $0.value) }
  }

  /// Returns the settings of libpq's list, and frees the list; nil if there is no list.
  private static func settings(
    in options: UnsafeMutablePointer<PQconninfoOption>?
  ) -> [(name: String, value: String, isSecret: Bool)]? {
    guard let options = unsafe options else { return nil }
    defer { unsafe PQconninfoFree(options) }
    var found: [(String, String, Bool)] = []
    var option = unsafe options
    while let keyword = unsafe option.pointee.keyword {
      if let value = unsafe option.pointee.val {
        // libpq marks a value that a dialog should hide with an asterisk.
        let display = unsafe option.pointee.dispchar.map { unsafe String(cString: $0) }
        found.append((unsafe String(cString: keyword), unsafe String(cString: value), display == "*"))
      }
      unsafe option += 1
    }
    return found
  }

  private static func withPointers<Result>(
    _ settings: [(name: String, value: String)],
    _ body: ([UnsafePointer<CChar>?], [UnsafePointer<CChar>?]) -> Result
  ) -> Result {
    var names = unsafe settings.map { unsafe strdup($0.name) } + [nil]
    var values = unsafe settings.map { unsafe strdup($0.value) } + [nil]
    defer {
      while let text = unsafe names.popLast() { unsafe free(text) }
      while let text = unsafe values.popLast() { unsafe free(text) }
    }
    return unsafe body(names.map { unsafe UnsafePointer($0) }, values.map { unsafe UnsafePointer($0) })
  }

  // MARK: Statements

  /// Runs a statement, and returns its rows. Outside of a transaction, repeats it as ``retrying(_:)`` does.
  /// - Parameter meanwhile: called between sending the statement and waiting for the answer. Must not use
  ///   this connection.
  /// - Throws: ``ServerFailure``. After one of kind `lost`, the connection can't be used any more.
  @discardableResult
  func run(
    _ statement: Statement, _ parameters: [Parameter] = [], within time: Duration = ServerAddress.patience,
    meanwhile: () -> Void = {}
  ) throws(ServerFailure) -> Rows {
    try retrying { () throws(ServerFailure) -> Rows in
      try using(time) { state throws(ServerFailure) in
        try start(statement, parameters, &state, time)
        meanwhile()
        return try result(&state, time)
      }
    }
  }

  /// Runs a transaction, and repeats it, for ten seconds at most, if the server rolls it back because of another one.
  ///
  /// With READ COMMITTED, the server does that only to resolve deadlocks.
  /// - Parameter body: runs the transaction. If a transaction is open after `body` has failed, nothing is repeated,
  ///   because `body` was only a part of that transaction.
  func retrying<Result>(_ body: () throws(ServerFailure) -> Result) throws(ServerFailure) -> Result {
    let end = ContinuousClock.now + ServerAddress.patience
    var pause: UInt32 = 1000
    while true {
      do throws(ServerFailure) { return try body() } catch {
        guard error.isTransient, ContinuousClock.now < end, !isInTransaction else { throw error }
      }
      // The pause is random, or two nodes that fail because of each other would do so again.
      usleep(UInt32.random(in: 0..<pause))
      pause = min(2 * pause, 100_000)
    }
  }

  /// Ends an open or failed transaction. If there is none, does nothing: the server would warn.
  func rollBack() {
    if isInTransaction { _ = try? run("ROLLBACK") }
  }

  /// Whether a transaction is open, or has failed and was not ended.
  private var isInTransaction: Bool {
    state.withLock { _ in unsafe PQtransactionStatus(handle) != PQTRANS_IDLE }
  }

  /// Sends a statement, which the server runs while the caller does something else.
  /// - Returns: the answer for ``rows(of:within:)``. The next use of this connection first stores the rows in it.
  /// - Throws: as ``run(_:_:within:)``.
  func send(
    _ statement: Statement, _ parameters: [Parameter] = [], within time: Duration
  ) throws(ServerFailure) -> Answer {
    try using(time) { state throws(ServerFailure) in
      try start(statement, parameters, &state, time)
      let answer = Answer()
      state.pending = answer
      return answer
    }
  }

  /// Waits for the rows of a statement that was sent ahead. Call it once for each answer.
  /// - Throws: as ``run(_:_:within:)``.
  func rows(of answer: Answer, within time: Duration) throws(ServerFailure) -> Rows {
    // Each use of the connection first receives the pending answer.
    try using(time) { _ throws(ServerFailure) in }
    guard let received = answer.received.withLock({ $0 }) else {
      throw ServerFailure(.lost, "the connection was already lost")
    }
    return try received.get()
  }

  private func start(
    _ statement: Statement, _ parameters: [Parameter], _ state: inout State, _ time: Duration
  ) throws(ServerFailure) {
    try prepare(statement, parameters, &state, time)
    try send(statement, parameters, &state)
    guard unsafe PQflush(handle) >= 0 else { throw lost(&state) }
  }

  /// Lets the server parse a statement that has a name, if this connection uses it for the first time.
  private func prepare(
    _ statement: Statement, _ parameters: [Parameter], _ state: inout State, _ time: Duration
  ) throws(ServerFailure) {
    guard let name = statement.name, !state.prepared.contains(name) else { return }
    let types = parameters.map(\.type)
    guard unsafe PQsendPrepare(handle, name, statement.text, Int32(types.count), types) == 1 else {
      throw lost(&state)
    }
    _ = try result(&state, time)
    state.prepared.insert(name)
  }

  private func send(
    _ statement: Statement, _ parameters: [Parameter], _ state: inout State
  ) throws(ServerFailure) {
    let count = Int32(parameters.count)
    let lengths = parameters.map { Int32($0.bytes.count) }
    let formats = parameters.map { _ in Int32(1) }
    let isSent = unsafe Self.withPointers(parameters.map(\.bytes)) { values in
      if let name = statement.name {
        return unsafe PQsendQueryPrepared(handle, name, count, values, lengths, formats, 1)
      }
      let types = parameters.map(\.type)
      return unsafe PQsendQueryParams(handle, statement.text, count, types, values, lengths, formats, 1)
    }
    guard isSent == 1 else { throw lost(&state) }
  }

  /// Runs several statements in one round trip. After a statement that fails, no other is run.
  /// - Returns: the rows of each statement.
  /// - Throws: as ``run(_:_:within:)``.
  func runAll(
    _ statements: [(Statement, [Parameter])], within time: Duration
  ) throws(ServerFailure) -> [Rows] {
    try using(time) { state throws(ServerFailure) in
      // Statements are prepared first: in the pipeline, these answers would be mixed up with those of running them.
      for (statement, parameters) in statements { try prepare(statement, parameters, &state, time) }
      guard unsafe PQenterPipelineMode(handle) == 1 else { throw lost(&state) }
      for (statement, parameters) in statements { try send(statement, parameters, &state) }
      guard unsafe PQpipelineSync(handle) == 1 else { throw lost(&state) }
      var all: [Rows] = []
      for _ in statements { all.append(try answer(&state, time)) }
      // The end of the pipeline has an answer too.
      _ = try next(&state, time)
      guard unsafe PQexitPipelineMode(handle) == 1 else { throw lost(&state) }
      for rows in all { if let failure = rows.failure { throw failure } }
      return all
    }
  }

  /// Calls `body`, which commits, and throws if the server did not wait for its standby.
  ///
  /// A server that is told to stop waiting for its standby sends a warning and reports the commit as done.
  /// - Throws: what `body` throws; ``ServerFailure`` of kind `lost` if the server did not wait.
  func confirming<Result, Failure: Error>(
    _ body: () throws(Failure) -> Result
  ) throws -> Result {
    let count = warnings.count
    let result = try body()
    guard warnings.count == count else {
      interrupt()
      throw ServerFailure.unconfirmed
    }
    return result
  }

  /// Waits for notifications, and returns their texts; empty if the time ran out.
  /// - Throws: ``ServerFailure`` if the connection was lost.
  func notifications(atMost time: Duration) throws(ServerFailure) -> [String] {
    let deadline = DispatchTime.now() + time.timeInterval
    return try using(time) { state throws(ServerFailure) in
      var found: [String] = []
      while true {
        while let notification = unsafe PQnotifies(handle) {
          found.append(unsafe String(cString: notification.pointee.extra))
          unsafe PQfreemem(notification)
        }
        if !found.isEmpty { return found }
        guard unsafe Self.wait(PQsocket(handle), Int16(POLLIN), until: deadline) else { return [] }
        guard unsafe PQconsumeInput(handle) == 1 else { throw lost(&state) }
      }
    }
  }

  /// Shuts the connection down, which ends all waits for the server.
  func interrupt() { _ = shutdown(socket, Int32(SHUT_RDWR)) }

  private func using<Result: Sendable>(
    _ time: Duration, _ body: (inout State) throws(ServerFailure) -> Result
  ) throws(ServerFailure) -> Result {
    try state.withLock { state throws(ServerFailure) in
      guard !state.isLost else { throw ServerFailure(.lost, "the connection was already lost") }
      if let pending = state.pending {
        state.pending = nil
        let received: Swift.Result<Rows, ServerFailure>
        do throws(ServerFailure) { received = .success(try self.result(&state, time)) } catch {
          received = .failure(error)
        }
        pending.received.withLock { $0 = received }
        if state.isLost { _ = try received.get() }
      }
      return try body(&state)
    }
  }

  /// Sends the rest of a statement, and receives its rows. Throws if the statement failed.
  private func result(_ state: inout State, _ time: Duration) throws(ServerFailure) -> Rows {
    let rows = try answer(&state, time)
    if let failure = rows.failure { throw failure }
    return rows
  }

  /// Sends the rest of a statement, and receives its answer. If the statement failed, the rows have the failure.
  private func answer(_ state: inout State, _ time: Duration) throws(ServerFailure) -> Rows {
    while true {
      let rest = unsafe PQflush(handle)
      guard rest >= 0 else { throw lost(&state) }
      if rest == 0 { break }
      try wait(Int16(POLLIN | POLLOUT), &state, time)
      guard unsafe PQconsumeInput(handle) == 1 else { throw lost(&state) }
    }
    var last: Rows?
    // The first error has the reason. libpq may add that the connection was lost.
    while let found = try next(&state, time) { if last.map({ $0.failure == nil }) ?? true { last = found } }
    guard unsafe PQstatus(handle) == CONNECTION_OK, let last else { throw lost(&state) }
    return last
  }

  /// The next result of a statement; nil after the last result.
  private func next(_ state: inout State, _ time: Duration) throws(ServerFailure) -> Rows? {
    while unsafe PQisBusy(handle) == 1 {
      try wait(Int16(POLLIN), &state, time)
      guard unsafe PQconsumeInput(handle) == 1 else { throw lost(&state) }
    }
    return unsafe PQgetResult(handle).map { unsafe Rows($0) }
  }

  private func wait(_ events: Int16, _ state: inout State, _ time: Duration) throws(ServerFailure) {
    guard unsafe !Self.wait(PQsocket(handle), events, until: .now() + time.timeInterval) else { return }
    state.isLost = true
    throw ServerFailure(.lost, "the server did not answer in time")
  }

  private func lost(_ state: inout State) -> ServerFailure {
    state.isLost = true
    return ServerFailure(.lost, unsafe Self.message(handle))
  }

  private static func message(_ handle: OpaquePointer) -> String {
    unsafe PQerrorMessage(handle).map { unsafe String(cString: $0) } ?? ""
  }

  /// Waits until a socket has one of these events. Returns false if the time ran out.
  private static func wait(_ socket: Int32, _ events: Int16, until deadline: DispatchTime) -> Bool {
    while true {
      let now = DispatchTime.now()
      let rest = deadline > now ? (deadline.uptimeNanoseconds - now.uptimeNanoseconds) / 1_000_000 + 1 : 0
      var descriptor = pollfd(fd: socket, events: events, revents: 0)
      let count = unsafe poll(&descriptor, 1, Int32(clamping: rest))
      if count > 0 { return true }
      if count == 0, DispatchTime.now() >= deadline { return false }
      if count < 0, errno != EINTR { return true }
    }
  }

  private static func withPointers<Result>(
    _ arrays: [[UInt8]], _ body: ([UnsafePointer<CChar>?]) -> Result
  ) -> Result {
    var pointers = unsafe [UnsafePointer<CChar>?]()
    func lend(_ rest: ArraySlice<[UInt8]>) -> Result {
      guard let first = rest.first else { return unsafe body(pointers) }
      // Even an empty value must have an address, because a null pointer means NULL.
      return unsafe (first.isEmpty ? [0] : first).withUnsafeBytes { bytes in
        unsafe pointers.append(bytes.baseAddress?.assumingMemoryBound(to: CChar.self))
        return lend(rest.dropFirst())
      }
    }
    return lend(arrays[...])
  }
}

/// Counts warnings that may mean that a commit did not wait for its standby.
///
/// Such warnings have no code of their own, and their text is in the server's language. So all warnings are counted,
/// except those that are known to be about something else.
private final class WarningCounter: Sendable {
  /// Functions of PostgreSQL that warn about something else: transaction numbers that run out, a nearly full queue of
  /// notifications, or what a trigger reports.
  private static let others: Set<String> = [
    "GetNewTransactionId", "GetNewMultiXactId", "asyncQueueFillWarning", "exec_stmt_raise",
  ]
  private let counted = Lock(0)

  var count: Int { counted.withLock { $0 } }

  func add(from function: String) {
    if !Self.others.contains(function) { counted.withLock { $0 += 1 } }
  }
}
