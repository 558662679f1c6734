internal import CMicroHTTPD

/// One request and its response. Only the thread of the connection uses an exchange.
final class Exchange {
  private let reception: HTTPReception
  /// Whether the response was made before the body of the request, which is then not read.
  let isAnsweredEarly: Bool

  /// - Parameter request: nil if the request is not valid.
  init(_ request: HTTPRequest?, _ handler: any HTTPHandler) {
    guard let request else {
      reception = .answer(handler.answerToInvalidText)
      isAnsweredEarly = true
      return
    }
    reception = handler.receive(request)
    if case .answer = reception { isAnsweredEarly = request.hasBody } else { isAnsweredEarly = false }
  }

  func take(_ piece: [UInt8]) -> Bool {
    // An unexpected body is discarded.
    if case .read(let reader) = reception { reader.take(piece) } else { true }
  }

  func answer() -> HTTPResponse {
    switch reception {
    case .answer(let response): response
    case .read(let reader): reader.answer()
    }
  }
}

extension HTTPRequest {
  /// Fails if the request is not valid UTF-8, or if its headers contradict each other about the length of the body.
  init?(_ connection: OpaquePointer, url: UnsafePointer<CChar>, method: UnsafePointer<CChar>) {
    guard let path = unsafe String(validatingCString: url),
      let method = unsafe String(validatingCString: method),
      let query = unsafe KeyValues.read(connection, .GET_ARGUMENT_KIND),
      let headers = unsafe KeyValues.read(connection, .HEADER_KIND)
    else { return nil }
    self.init(
      method: method, path: path, query: query,
      headers: Dictionary(headers.map { ($0.name.lowercased(), $0.value) }) { "\($0), \($1)" })
    if hasContradictingLengths { return nil }
  }
}

private final class KeyValues {
  private var values: [(name: String, value: String)] = []
  private var isValid = true

  static func read(_ connection: OpaquePointer, _ kind: MHD_ValueKind) -> [(name: String, value: String)]? {
    let found = KeyValues()
    // SAFETY: the object outlives the call, and the bytes of each pair are copied during the callback.
    withExtendedLifetime(found) {
      _ = unsafe MHD_get_connection_values_n(
        connection, kind,
        { context, _, name, nameCount, value, valueCount in
          guard let context = unsafe context else { return .NO }
          let found = unsafe Unmanaged<KeyValues>.fromOpaque(context).takeUnretainedValue()
          func text(_ bytes: UnsafePointer<CChar>?, _ count: Int) -> String? {
            guard let bytes = unsafe bytes else { return "" }
            return unsafe String(
              validating: UnsafeRawBufferPointer(start: bytes, count: count), as: UTF8.self)
          }
          guard let name = unsafe text(name, nameCount), let value = unsafe text(value, valueCount) else {
            found.isValid = false
            return .NO
          }
          found.values.append((name, value))
          return .YES
        }, Unmanaged.passUnretained(found).toOpaque())
    }
    return found.isValid ? found.values : nil
  }
}

extension HTTPResponse {
  func queue(on connection: OpaquePointer) -> MHD_Result {
    guard let response = unsafe makeResponse() else { return .NO }
    defer { unsafe MHD_destroy_response(response) }
    for (name, value) in headers { unsafe MHD_add_response_header(response, name, value) }
    return unsafe MHD_queue_response(connection, UInt32(status), response)
  }

  private func makeResponse() -> OpaquePointer? {
    switch body {
    case .bytes(var bytes):
      return unsafe bytes.withUnsafeMutableBytes { buffer in
        unsafe MHD_create_response_from_buffer(buffer.count, buffer.baseAddress, .RESPMEM_MUST_COPY)
      }
    case .stream(let length, let next):
      let box = unsafe Unmanaged.passRetained(SourceBox(next))
      // SAFETY: libmicrohttpd reads pieces until it calls the second function, which releases the reference.
      // The buffer has room for as many bytes as are requested.
      let response = unsafe MHD_create_response_from_callback(
        length.map { UInt64($0) } ?? chttp_unknown_length(), SourceBox.pieceByteCount,
        { context, _, buffer, count in
          guard let context = unsafe context, let buffer = unsafe buffer else { return chttp_failed_body() }
          let box = unsafe Unmanaged<SourceBox>.fromOpaque(context).takeUnretainedValue()
          do {
            guard let bytes = try box.next(atMost: count) else { return chttp_end_of_body() }
            unsafe UnsafeMutableRawBufferPointer(start: buffer, count: count).copyBytes(from: bytes)
            return bytes.count
          } catch {
            return chttp_failed_body()
          }
        }, box.toOpaque(),
        { context in if let context = unsafe context { unsafe SourceBox.release(context) } })
      if unsafe response == nil { unsafe box.release() }
      return unsafe response
    }
  }
}

/// The source of a streamed body, as an object that C can hold.
private final class SourceBox {
  static let pieceByteCount = 64 << 10
  private let nextPiece: () throws -> [UInt8]?
  private var rest: ArraySlice<UInt8> = []

  init(_ nextPiece: @escaping () throws -> [UInt8]?) { self.nextPiece = nextPiece }

  func next(atMost count: Int) throws -> ArraySlice<UInt8>? {
    if rest.isEmpty {
      guard let piece = try nextPiece() else { return nil }
      rest = piece[...]
    }
    defer { rest = rest.dropFirst(count) }
    return rest.prefix(count)
  }

  static func release(_ context: UnsafeMutableRawPointer) {
    unsafe Unmanaged<SourceBox>.fromOpaque(context).release()
  }
}
