import Foundation
import Glibc
import Locks
import TestSupport

/// Passes bytes between clients and a server. It can delay them, replace a text, cut a connection at a given place, and
/// stop acknowledging anything.
final class CuttingProxy: Sendable {
  let port: Int
  private let target: Lock<Int>
  private let listener: Int32
  /// How many more bytes pass, on all connections together, before one is cut; nil for no limit.
  private let limit = Lock<Int?>(nil)
  /// A text of a client at which its connection is cut.
  private let trap = Lock<(text: [UInt8], dropsAnswer: Bool)?>(nil)
  private let delay = Lock(Duration.zero)
  private let replacement = Lock<(text: [UInt8], other: [UInt8])?>(nil)
  /// How many bytes were passed, in both directions.
  let passedByteCount = Lock(0)
  private let open = Lock<Set<Int32>>([])
  private let isSilent = Lock(false)

  /// A client's connection.
  private final class Client: Sendable {
    /// Whether the next bytes from the server cut the connection instead of being passed.
    let dropsAnswer = Lock(false)
  }

  init(to target: Int) throws {
    self.target = Lock(target)
    listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    (port, _) = try unsafe Self.withLoopback(port: 0) { [listener] address, length in
      guard unsafe bind(listener, address, length) == 0, listen(listener, 64) == 0 else { return -1 }
      var size = length
      return unsafe getsockname(listener, address, &size)
    }
    let isStarted = Threads.start { self.accept() }
    guard isStarted else { throw PostgresFailure(description: "no thread for the proxy") }
  }

  /// Cuts a connection after this many more bytes on all of them, in both directions; lets everything pass if nil.
  func cut(after byteCount: Int?) { limit.withLock { $0 = byteCount } }

  /// Cuts the next connection on which a client sends a text, before that text.
  func cut(before text: String) { trap.withLock { $0 = (Array(text.utf8), false) } }

  /// Cuts the next connection on which a client sends a text, before the server's answer. The text arrives.
  func cut(beforeAnswerTo text: String) { trap.withLock { $0 = (Array(text.utf8), true) } }

  /// Whether no client has sent the text at which its connection is to be cut.
  var isWaitingToCut: Bool { trap.withLock { $0 != nil } }

  /// Loses all packets that arrive here, from clients and from the server, or continues. Nothing is acknowledged and no
  /// connection ends, as if a cable was pulled or the machine had lost its power. Later, what was not given up arrives.
  func setSilent(_ isSilent: Bool) throws {
    try open.withLock { open in
      self.isSilent.withLock { $0 = isSilent }
      for descriptor in open.union([listener]) { try Self.setDeaf(descriptor, isSilent) }
    }
  }

  /// Gives a socket a filter of the system (BPF) that discards all packets, or removes it. Connections that a listening
  /// socket accepts inherit its filter.
  private static func setDeaf(_ socket: Int32, _ isDeaf: Bool) throws {
    // The instruction BPF_RET: keep none of the bytes.
    let instructions: [UInt64] = [6]
    let status = unsafe instructions.withUnsafeBufferPointer { instructions in
      // The system's `sock_fprog`: how many instructions there are, and where.
      let program = [1, UInt64(UInt(bitPattern: instructions.baseAddress))]
      return unsafe setsockopt(socket, SOL_SOCKET, isDeaf ? SO_ATTACH_FILTER : SO_DETACH_FILTER, program, 16)
    }
    // Without a filter, there is none to remove.
    guard status == 0 || errno == ENOENT else {
      throw PostgresFailure(description: "the system has no packet filter: \(errno)")
    }
  }

  /// Delays everything that is passed from now on, in both directions.
  func delay(by time: Duration) { delay.withLock { $0 = time } }

  /// Replaces a text in all messages from now on by another one of the same length. The text must be in messages so short
  /// that they arrive in one piece.
  func replace(_ text: String, with other: String) {
    replacement.withLock { $0 = (Array(text.utf8), Array(other.utf8)) }
  }

  /// Passes later connections to another server.
  func redirect(to target: Int) { self.target.withLock { $0 = target } }

  func close() {
    shutdown(listener, Int32(SHUT_RDWR))
    Glibc.close(listener)
    for descriptor in open.withLock({ $0 }) { shutdown(descriptor, Int32(SHUT_RDWR)) }
  }

  private func accept() {
    while true {
      let client = Glibc.accept(listener, nil, nil)
      guard client >= 0 else { return }
      let server = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
      let connected = unsafe try? Self.withLoopback(port: target.withLock { $0 }) { address, length in
        unsafe connect(server, address, length)
      }
      guard connected != nil else {
        Glibc.close(client)
        Glibc.close(server)
        continue
      }
      var one: Int32 = 1
      for descriptor in [client, server] {
        _ = unsafe setsockopt(
          descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(MemoryLayout<Int32>.size))
      }
      open.withLock { open in
        open.formUnion([client, server])
        // The silence may have begun or ended meanwhile.
        let isSilent = isSilent.withLock { $0 }
        for descriptor in [client, server] { try? Self.setDeaf(descriptor, isSilent) }
      }
      let connection = Client()
      let done = DispatchGroup()
      for (from, to) in [(client, server), (server, client)] {
        done.enter()
        let isStarted = Threads.start {
          self.pass(from, to, of: connection, isAnswer: from == server)
          done.leave()
        }
        if !isStarted { done.leave() }
      }
      _ = Threads.start {
        done.wait()
        self.open.withLock { $0.subtract([client, server]) }
        Glibc.close(client)
        Glibc.close(server)
      }
    }
  }

  private func pass(_ from: Int32, _ to: Int32, of connection: Client, isAnswer: Bool) {
    var buffer = [UInt8](repeating: 0, count: 64 << 10)
    while true {
      let count = unsafe buffer.withUnsafeMutableBytes { unsafe read(from, $0.baseAddress, $0.count) }
      guard count > 0 else { break }
      usleep(UInt32(delay.withLock { $0 } / .microseconds(1)))
      if let (text, other) = replacement.withLock({ $0 }), let place = buffer[..<count].firstRange(of: text) {
        buffer.replaceSubrange(place, with: other)
      }
      if isAnswer, connection.dropsAnswer.withLock({ $0 }) { break }
      // The bytes up to the place of a cut still pass.
      var (passing, isCut) = limit.withLock { limit -> (Int, Bool) in
        guard let rest = limit else { return (count, false) }
        if count < rest {
          limit = rest - count
          return (count, false)
        }
        limit = nil
        return (rest, true)
      }
      if !isAnswer, let (text, dropsAnswer) = trap.withLock({ $0 }),
        let place = buffer[..<count].firstRange(of: text)
      {
        trap.withLock { $0 = nil }
        connection.dropsAnswer.withLock { $0 = dropsAnswer }
        if !dropsAnswer { (passing, isCut) = (place.lowerBound, true) }
      }
      passedByteCount.withLock { $0 += passing }
      var sent = 0
      while sent < passing {
        let written = unsafe buffer.withUnsafeBytes {
          unsafe send(to, $0.baseAddress! + sent, passing - sent, Int32(MSG_NOSIGNAL))
        }
        guard written > 0 else { break }
        sent += written
      }
      if isCut { break }
    }
    shutdown(from, Int32(SHUT_RDWR))
    shutdown(to, Int32(SHUT_RDWR))
  }

  private static func withLoopback(
    port: Int, _ body: (UnsafeMutablePointer<sockaddr>, socklen_t) -> Int32
  ) throws -> (port: Int, result: Int32) {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = in_port_t(port).bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    let result = unsafe withUnsafeMutablePointer(to: &address) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
        unsafe body(pointer, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard result == 0 else { throw PostgresFailure(description: "no connection to port \(port)") }
    return (Int(UInt16(bigEndian: address.sin_port)), result)
  }
}
