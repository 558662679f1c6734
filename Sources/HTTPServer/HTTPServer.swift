internal import CMicroHTTPD
import Foundation
import Locks

/// An HTTP server on the loopback interface: libmicrohttpd, with a thread for each connection.
///
/// 1. All unsafe code of the module is in this file and in `Exchange.swift`.
/// 2. libmicrohttpd gets a reference to the server's core when it starts. ``stop()`` releases this reference after all
///    threads of connections have ended. Each request has a reference to its exchange, each streamed body has one to
///    its source. libmicrohttpd calls back when it no longer needs these references.
/// 3. A connection has a time limit for the head of a request, and another for its body. The limits do not depend on
///    how many bytes arrive: a connection whose client sends one byte a second is closed too.
///
/// Safe to use from any thread.
package final class HTTPServer: Sendable {
  /// The reason why a server did not start.
  package struct Failure: Error, CustomStringConvertible {
    package let description: String
  }

  package let port: UInt16
  private let core: ServerCore
  private let daemon: Lock<Daemon?>

  // SAFETY: the daemon may be used from any thread. The lock ensures that only one thread stops the daemon.
  @safe private struct Daemon: @unchecked Sendable {
    let pointer: OpaquePointer
  }

  /// Starts serving on the loopback interface.
  /// - Parameters:
  ///   - port: the port, or 0 for a free one.
  ///   - connectionLimit: the maximum number of connections.
  ///   - headSeconds: the time limit for the head of a request.
  /// - Throws: ``Failure`` if the port can't be used, or the system can't start the server.
  package init(
    port: UInt16, connectionLimit: UInt32, headSeconds: Double, handler: any HTTPHandler
  ) throws(Failure) {
    let core = ServerCore(handler, headSeconds: headSeconds)
    self.core = core
    let context = unsafe Unmanaged.passRetained(core)
    errno = 0
    guard
      let started = unsafe chttp_start(
        port, connectionLimit, ServerCore.idleSeconds, 32 << 10, answerRequest, requestCompleted,
        connectionChanged, context.toOpaque())
    else {
      let number = errno
      unsafe context.release()
      let reason = unsafe String(cString: strerror(number))
      throw Failure(
        description: number == EADDRINUSE || number == EACCES
          ? "the port \(port) can't be used: \(reason); choose another one"
          : "the server can't listen on the loopback interface: \(reason)")
    }
    self.port = unsafe chttp_port(started)
    daemon = Lock(unsafe Daemon(pointer: started))
    core.watch()
  }

  deinit { stop() }

  /// Ends all connections and waits for their threads. Stopping twice is allowed. Must not be called by a
  /// handler.
  ///
  /// A streamed body that waits for something must end by itself when the server is stopped.
  package func stop() {
    let daemon = daemon.withLock { daemon in
      defer { daemon = nil }
      return daemon
    }
    guard let daemon else { return }
    core.end()
    unsafe MHD_stop_daemon(daemon.pointer)
    unsafe Unmanaged.passUnretained(core).release()
  }
}

/// The shared state of libmicrohttpd's callbacks.
final class ServerCore: Sendable {
  /// The time in seconds without a byte after which a connection is closed.
  static let idleSeconds: UInt32 = 30
  /// The time limit for the body of a request, in seconds.
  static let bodySeconds = 300.0

  let handler: any HTTPHandler
  let headSeconds: Double
  /// The sockets of connections, and their deadlines.
  private let connections = Lock<[UInt: Connection]>([:])
  private let isEnding = TimedSemaphore(value: 0)
  private let threads = WorkerThreads()

  private struct Connection: Sendable {
    let socket: Int32
    var deadline: ContinuousClock.Instant?
  }

  init(_ handler: any HTTPHandler, headSeconds: Double) {
    self.handler = handler
    self.headSeconds = headSeconds
  }

  /// Closes connections past their deadlines, about twice a second, until the server ends.
  func watch() {
    // If the system refuses a thread, the limit for idle connections still applies.
    _ = threads.start(for: self) { core in
      while core.isEnding.wait(timeout: .now() + 0.5) == .timedOut { core.cutLateConnections() }
    }
  }

  /// Ends ``watch()`` and waits for its thread, which would otherwise keep a reference to the handler.
  func end() {
    isEnding.signal()
    threads.wait()
  }

  private func cutLateConnections() {
    let now = ContinuousClock.now
    // The lock is held, so that no socket is closed, and its number reused, before `shutdown`.
    connections.withLock { connections in
      for (key, connection) in connections {
        guard let deadline = connection.deadline, deadline < now else { continue }
        shutdown(connection.socket, Int32(SHUT_RDWR))
        connections[key]?.deadline = nil
      }
    }
  }

  func began(_ key: UInt, socket: Int32) {
    let deadline = ContinuousClock.now + .seconds(headSeconds)
    connections.withLock { $0[key] = Connection(socket: socket, deadline: deadline) }
  }

  func ended(_ key: UInt) { connections.withLock { $0[key] = nil } }

  /// Sets the deadline of a connection. Nil removes the deadline, while the client has nothing to send.
  func expect(_ key: UInt, within seconds: Double?) {
    let deadline = seconds.map { ContinuousClock.now + .seconds($0) }
    connections.withLock { $0[key]?.deadline = deadline }
  }
}

// SAFETY of the three functions below: the context is the core that `HTTPServer.init` retained, until all connections
// have ended.

private func connectionChanged(
  _ context: UnsafeMutableRawPointer?, _ connection: OpaquePointer?,
  _: UnsafeMutablePointer<UnsafeMutableRawPointer?>?, _ what: MHD_ConnectionNotificationCode
) {
  guard let context = unsafe context, let connection = unsafe connection else { return }
  let core = unsafe Unmanaged<ServerCore>.fromOpaque(context).takeUnretainedValue()
  let key = UInt(bitPattern: connection)
  if what == .CONNECTION_NOTIFY_STARTED {
    core.began(key, socket: unsafe chttp_socket(connection))
  } else {
    core.ended(key)
  }
}

private func requestCompleted(
  _ context: UnsafeMutableRawPointer?, _ connection: OpaquePointer?,
  _ request: UnsafeMutablePointer<UnsafeMutableRawPointer?>?, _: MHD_RequestTerminationCode
) {
  guard let context = unsafe context, let connection = unsafe connection else { return }
  let core = unsafe Unmanaged<ServerCore>.fromOpaque(context).takeUnretainedValue()
  // The deadline allows for the idle time before the next request, and for the head of that request.
  core.expect(UInt(bitPattern: connection), within: Double(ServerCore.idleSeconds) + core.headSeconds)
  guard let request = unsafe request, let exchange = unsafe request.pointee else { return }
  unsafe request.pointee = nil
  unsafe Unmanaged<Exchange>.fromOpaque(exchange).release()
}

private func answerRequest(
  _ context: UnsafeMutableRawPointer?, _ connection: OpaquePointer?, _ url: UnsafePointer<CChar>?,
  _ method: UnsafePointer<CChar>?, _: UnsafePointer<CChar>?, _ data: UnsafePointer<CChar>?,
  _ count: UnsafeMutablePointer<Int>?, _ request: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
) -> MHD_Result {
  guard let context = unsafe context, let connection = unsafe connection, let url = unsafe url,
    let method = unsafe method, let count = unsafe count, let request = unsafe request
  else { return .NO }
  let core = unsafe Unmanaged<ServerCore>.fromOpaque(context).takeUnretainedValue()
  let key = UInt(bitPattern: connection)
  guard let known = unsafe request.pointee else {
    let head = unsafe HTTPRequest(connection, url: url, method: method)
    core.expect(key, within: nil)
    let exchange = Exchange(head, core.handler)
    unsafe request.pointee = Unmanaged.passRetained(exchange).toOpaque()
    if exchange.isAnsweredEarly { return unsafe exchange.answer().queue(on: connection) }
    // A request without a body is answered when libmicrohttpd calls again, immediately after this call.
    core.expect(key, within: ServerCore.bodySeconds)
    return .YES
  }
  let exchange = unsafe Unmanaged<Exchange>.fromOpaque(known).takeUnretainedValue()
  if unsafe count.pointee > 0 {
    guard let data = unsafe data else { return .NO }
    let piece = unsafe [UInt8](UnsafeRawBufferPointer(start: data, count: count.pointee))
    unsafe count.pointee = 0
    return exchange.take(piece) ? .YES : .NO
  }
  core.expect(key, within: nil)
  return unsafe exchange.answer().queue(on: connection)
}
