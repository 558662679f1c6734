import CatalogModel
import Foundation
import JSON
import JournalMaintenance
import JournalServer
import TestSupport
import Testing

/// An HTTP client over a plain socket, which can break every rule of the protocol.
final class Client {
  private let descriptor: Int32

  /// - Throws: ``ClientFailure`` if no server listens.
  init(port: UInt16, timeout: Int = 300) throws {
    descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var time = timeval(tv_sec: timeout, tv_usec: 0)
    unsafe setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &time, socklen_t(MemoryLayout<timeval>.size))
    unsafe setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &time, socklen_t(MemoryLayout<timeval>.size))
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    let result = unsafe withUnsafePointer(to: &address) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        unsafe connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    // The descriptor is closed by deinit, which also runs after an error.
    guard result == 0 else { throw ClientFailure(description: "no server listens at port \(port)") }
  }

  deinit { close(descriptor) }

  /// Sends bytes.
  /// - Returns: false if the server has closed the connection.
  @discardableResult
  func send(_ bytes: some Collection<UInt8>) -> Bool {
    var rest = Array(bytes)
    while !rest.isEmpty {
      let count = unsafe rest.withUnsafeBytes { buffer in
        unsafe Foundation.send(descriptor, buffer.baseAddress, buffer.count, Int32(MSG_NOSIGNAL))
      }
      if count <= 0 { return false }
      rest.removeFirst(count)
    }
    return true
  }

  /// The next bytes, or nil at the end and after the timeout.
  func receive(atMost limit: Int = 64 << 10) -> [UInt8]? {
    var buffer = [UInt8](repeating: 0, count: limit)
    let count = unsafe buffer.withUnsafeMutableBytes { unsafe recv(descriptor, $0.baseAddress, $0.count, 0) }
    return count > 0 ? Array(buffer.prefix(count)) : nil
  }

  /// Everything up to the end of the connection.
  func receiveAll() -> [UInt8] {
    var all: [UInt8] = []
    while let piece = receive() { all += piece }
    return all
  }

  /// One answer from a server that keeps the connection open.
  func receiveAnswer() -> [UInt8] {
    var all: [UInt8] = []
    while true {
      if let end = all.firstRange(of: Array("\r\n\r\n".utf8)) {
        let head = String(decoding: all[..<end.lowerBound], as: UTF8.self).lowercased()
        let length = head.firstMatch(of: /content-length: *([0-9]+)/).flatMap { Int($0.1) } ?? 0
        if all.count >= end.upperBound + length { return all }
      }
      guard let piece = receive() else { return all }
      all += piece
    }
  }

  /// Reads until a text has arrived.
  /// - Returns: false if it does not arrive.
  func receive(until text: String, in all: inout String) -> Bool {
    while !all.contains(text) {
      guard let piece = receive() else { return false }
      all += String(decoding: piece, as: UTF8.self)
    }
    return true
  }
}

struct ClientFailure: Error, CustomStringConvertible {
  let description: String
}

/// A parsed answer.
struct Answer {
  let status: Int
  let headers: [String: String]
  let body: [UInt8]

  init(_ bytes: [UInt8]) throws {
    guard let end = bytes.firstRange(of: Array("\r\n\r\n".utf8)) else {
      throw ClientFailure(description: "no answer: \(String(decoding: bytes.prefix(200), as: UTF8.self))")
    }
    let lines = String(decoding: bytes[..<end.lowerBound], as: UTF8.self).components(separatedBy: "\r\n")
    guard let status = lines[0].split(separator: " ").dropFirst().first.flatMap({ Int($0) }) else {
      throw ClientFailure(description: "no status: \(lines[0])")
    }
    self.status = status
    var headers: [String: String] = [:]
    for line in lines.dropFirst() {
      let parts = line.split(separator: ":", maxSplits: 1)
      headers[parts[0].lowercased()] = parts.count == 2 ? parts[1].trimmingCharacters(in: .whitespaces) : ""
    }
    self.headers = headers
    let rest = Array(bytes[end.upperBound...])
    body = headers["transfer-encoding"] == "chunked" ? Self.joined(rest) : rest
  }

  private static func joined(_ chunked: [UInt8]) -> [UInt8] {
    var body: [UInt8] = []
    var rest = chunked[...]
    while let end = rest.firstRange(of: Array("\r\n".utf8)) {
      guard let count = Int(String(decoding: rest[..<end.lowerBound], as: UTF8.self), radix: 16), count > 0
      else { break }
      body += rest[end.upperBound...].prefix(count)
      rest = rest[end.upperBound...].dropFirst(count + 2)
    }
    return body
  }

  var text: String { String(decoding: body, as: UTF8.self) }

  /// The body as JSON.
  func json() throws -> FieldValue { try FieldValue(json: body, decodingWrappers: true) }

  /// The code of an error.
  var code: String? { (try? json())?["error"]?["code"]?.string }
}

/// A server with its own journal, and a token.
final class ServedJournal: Sendable {
  static let token = "a-token-for-the-tests"
  static let withoutToken: [String: String?] = ["Authorization": nil]
  let journal: CatalogJournal
  let server: JournalServer

  init(
    _ journal: CatalogJournal, editable: Bool = true,
    _ change: (inout JournalServer.Options) -> Void = { _ in }
  ) throws {
    self.journal = journal
    var options = JournalServer.Options()
    options.isEditable = editable
    options.author = "ana"
    options.tokens = [Self.token]
    change(&options)
    server = try JournalServer(journal, options: options)
  }

  deinit { server.stop() }

  var host: String { "127.0.0.1:\(server.port)" }

  /// Sends a request on a new connection.
  /// - Parameter headers: headers that replace those of a well-behaved client. A header with the value nil is left out.
  func ask(
    _ method: String, _ path: String, _ headers: [String: String?] = [:], body: [UInt8]? = nil
  ) throws -> Answer {
    try Self.ask(server.port, method, path, headers, body: body)
  }

  /// Sends a request with the token to any server of this machine.
  static func ask(
    _ port: UInt16, _ method: String, _ path: String, _ headers: [String: String?] = [:], body: [UInt8]?
  ) throws -> Answer {
    var all: [String: String?] = [
      "Host": "127.0.0.1:\(port)", "Authorization": "Bearer \(Self.token)", "Connection": "close",
      "Content-Length": body.map { "\($0.count)" }, "Content-Type": body == nil ? nil : "application/json",
    ]
    for (name, value) in headers { all[name] = value }
    let client = try Client(port: port)
    var head = "\(method) \(path) HTTP/1.1\r\n"
    for case (let name, let value?) in all { head += "\(name): \(value)\r\n" }
    client.send(Array((head + "\r\n").utf8) + (body ?? []))
    return try Answer(client.receiveAll())
  }

  func get(_ path: String, _ headers: [String: String?] = [:]) throws -> Answer {
    try ask("GET", path, headers)
  }

  func post(_ path: String, _ json: String, _ headers: [String: String?] = [:]) throws -> Answer {
    try ask("POST", path, headers, body: Array(json.utf8))
  }
}

/// A journal with three entries, an image and a tag.
func makeBooks(_ folder: TemporaryFolder) throws -> CatalogJournal {
  try makeServedBooks(at: folder.url.appending(path: "Books.journal"))
}

/// The same journal after the category of its books was erased, which leaves their references.
func makeBooksOfErasedCategory(_ folder: TemporaryFolder) throws -> CatalogJournal {
  let books = try makeBooks(folder)
  try books.close()
  try CatalogJournal.erase([.category(1)], at: books.url, reason: "by law")
  return try CatalogJournal.open(at: books.url)
}

/// The books of Documentation/Viewer.md.
func makeServedBooks(at url: URL) throws -> CatalogJournal {
  func date(_ text: String) throws -> Date { try Date(text, strategy: .iso8601) }
  let journal = try CatalogJournal.create(at: url)
  let svg =
    "<svg xmlns='http://www.w3.org/2000/svg' width='40' height='60'><script>parent.hacked=1</script>"
    + "<rect width='40' height='60' fill='teal'/></svg>"
  let cover = try journal.blobs.add(Data(svg.utf8))
  try journal.commit(by: "ana", note: "moving in", date: date("2026-08-01T10:00:00Z")) { draft in
    let shelf = try draft.addCategory(name: "Novels", color: Catalog.Color(hex: "#2255AA"))
    try draft.addItem(kind: "book", category: shelf, attributes: ["title": "Dun", "stars": 3])
    try draft.addItem(kind: "book", category: shelf, attributes: ["title": "Emma", "stars": 4])
    try draft.addItem(kind: "note", attributes: ["title": "<img src=x onerror=parent.hacked=1>"])
    try draft.addImage(to: 1, name: "cover.svg", mediaType: "image/svg+xml", blob: cover)
  }
  try journal.commit(by: "bob", note: "spelling", date: date("2026-08-02T09:00:00Z")) { draft in
    try draft.updateItem(1, set: ["title": "Dune", "stars": 5])
  }
  try journal.tag("proofread", by: "bob")
  return journal
}

/// The journal of `makeBooks` with one more entry, whose clock was wrong. Its author is erased, and that of entry 1.
func makeErasedBooks(_ folder: TemporaryFolder) throws -> CatalogJournal {
  let journal = try makeBooks(folder)
  let url = journal.url
  try journal.commit(by: "eve", note: "late", date: Timestamp("2026-08-01T00:00:00Z")?.date) { draft in
    for item: Catalog.Item.ID in [1, 3] { try draft.updateItem(item, set: ["stars": 1]) }
  }
  try journal.close()
  try CatalogJournal.erase([.item(3)], at: url, reason: "by law", by: "eve", includingWords: true)
  return try CatalogJournal.open(at: url)
}

/// Serves the journal of `makeBooks`, and verifies it at the end.
/// - Parameter isSound: whether the journal must be sound then.
func withBooks(
  editable: Bool = true, isSound: Bool = true, _ body: (ServedJournal) throws -> Void
) throws {
  try withTemporaryFolder { folder in
    let journal = try makeBooks(folder)
    let served = try ServedJournal(journal, editable: editable)
    try body(served)
    served.server.stop()
    #expect(try journal.verify().isSound == isSound)
    try journal.close()
  }
}
