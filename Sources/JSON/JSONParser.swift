/// Receives the parts of a text in order. A handler implements only the methods that it needs.
///
/// Reading values and splitting arrays are two handlers of one parser, so both know the same grammar. Only values have
/// limits.
protocol JSONHandler {
  /// A value begins at `offset`, inside of `depth` arrays and objects.
  mutating func willRead(at offset: Int, depth: Int)
  /// The value that last began at `depth` ends before `offset`.
  mutating func didRead(upTo offset: Int, depth: Int)
  mutating func null()
  mutating func bool(_ value: Bool)
  mutating func number(_ token: NumberToken, in cursor: JSONCursor)
  mutating func string(_ token: StringToken, in cursor: JSONCursor)
  mutating func key(_ token: StringToken, in cursor: JSONCursor)
  mutating func beginContainer(at offset: Int)
  mutating func endArray(in cursor: JSONCursor) throws(JSONError)
  mutating func endObject(in cursor: JSONCursor) throws(JSONError)
  /// The value at `offset` is valid, but beyond a limit. A handler that doesn't throw gets `null` instead of the value.
  mutating func exceedsLimit(
    _ code: JSONError.Code, at offset: Int, in cursor: JSONCursor
  ) throws(JSONError)
}

extension JSONHandler {
  mutating func willRead(at offset: Int, depth: Int) {}
  mutating func didRead(upTo offset: Int, depth: Int) {}
  mutating func null() {}
  mutating func bool(_ value: Bool) {}
  mutating func number(_ token: NumberToken, in cursor: JSONCursor) {}
  mutating func string(_ token: StringToken, in cursor: JSONCursor) {}
  mutating func key(_ token: StringToken, in cursor: JSONCursor) {}
  mutating func beginContainer(at offset: Int) {}
  mutating func endArray(in cursor: JSONCursor) throws(JSONError) {}
  mutating func endObject(in cursor: JSONCursor) throws(JSONError) {}
  mutating func exceedsLimit(
    _ code: JSONError.Code, at offset: Int, in cursor: JSONCursor
  ) throws(JSONError) {}
}

/// Reads one JSON text strictly by RFC 8259, and passes its parts to a handler.
///
/// The parser keeps the open arrays and objects in a list instead of calling itself, so nesting can't exhaust the
/// stack.
struct JSONParser<Handler: JSONHandler> {
  private enum Container {
    case array
    case object
  }

  private var cursor: JSONCursor
  private(set) var handler: Handler
  private var open: [Container] = []

  init(_ cursor: JSONCursor, handler: Handler) {
    self.cursor = cursor
    self.handler = handler
  }

  /// Reads the whole text.
  mutating func parse() throws(JSONError) {
    if cursor[0] == 0xEF, cursor[1] == 0xBB, cursor[2] == 0xBF { cursor.position = 3 }
    cursor.skipWhitespace()
    repeat {
      try readValueOrOpening()
    } while try readFollowing()
    guard cursor.isAtEnd else {
      let name = cursor.name(of: cursor.byte)
      throw cursor.error(
        .trailingText, at: cursor.position, "\(name) after the value; a text has only one value")
    }
  }

  /// Reads a complete scalar or empty container, or the start of a container up to its first value, which the next
  /// iteration reads.
  private mutating func readValueOrOpening() throws(JSONError) {
    while true {
      let byte = cursor.byte
      handler.willRead(at: cursor.position, depth: open.count)
      switch byte {
      case UInt8(ascii: "\""):
        let token = try cursor.readString()
        if isWithinDepth { handler.string(token, in: cursor) }
      case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
        let token = try cursor.readNumber()
        if !isWithinDepth { break }
        if token.isFinite {
          handler.number(token, in: cursor)
        } else {
          try handler.exceedsLimit(.numberOutOfRange, at: token.range.lowerBound, in: cursor)
          handler.null()
        }
      case UInt8(ascii: "{"):
        try begin(.object)
        if cursor.byte == UInt8(ascii: "}") { return }
        try readKey(orElse: "a key in quotation marks or '}'")
        continue
      case UInt8(ascii: "["):
        try begin(.array)
        if cursor.byte == UInt8(ascii: "]") { return }
        continue
      case UInt8(ascii: "t"):
        try cursor.readLiteral("true")
        if isWithinDepth { handler.bool(true) }
      case UInt8(ascii: "f"):
        try cursor.readLiteral("false")
        if isWithinDepth { handler.bool(false) }
      case UInt8(ascii: "n"):
        try cursor.readLiteral("null")
        if isWithinDepth { handler.null() }
      default:
        throw cursor.unexpected(expecting: "a value")
      }
      handler.didRead(upTo: cursor.position, depth: open.count)
      return
    }
  }

  /// Reads what may follow a value: ends of containers, then a comma.
  ///
  /// - Returns: whether another value follows.
  private mutating func readFollowing() throws(JSONError) -> Bool {
    while true {
      cursor.skipWhitespace()
      guard let container = open.last else { return false }
      switch (cursor.byte, container) {
      case (UInt8(ascii: ","), .array):
        cursor.position += 1
        cursor.skipWhitespace()
        return true
      case (UInt8(ascii: ","), .object):
        cursor.position += 1
        cursor.skipWhitespace()
        try readKey(orElse: "a key in quotation marks")
        return true
      case (UInt8(ascii: "]"), .array):
        cursor.position += 1
        open.removeLast()
        if !endsTooDeep() { try handler.endArray(in: cursor) }
      case (UInt8(ascii: "}"), .object):
        cursor.position += 1
        open.removeLast()
        if !endsTooDeep() { try handler.endObject(in: cursor) }
      case (_, .array):
        throw cursor.unexpected(expecting: "',' or ']'")
      case (_, .object):
        throw cursor.unexpected(expecting: "',' or '}'")
      }
      handler.didRead(upTo: cursor.position, depth: open.count)
    }
  }

  private mutating func begin(_ container: Container) throws(JSONError) {
    if open.count < JSONLimits.depth {
      handler.beginContainer(at: cursor.position)
    } else if open.count == JSONLimits.depth {
      try handler.exceedsLimit(.tooDeep, at: cursor.position, in: cursor)
    }
    open.append(container)
    cursor.position += 1
    cursor.skipWhitespace()
  }

  /// Whether the container that ended was too deep. A handler knows nothing of it, and gets `null` for the outermost one.
  private mutating func endsTooDeep() -> Bool {
    if open.count == JSONLimits.depth { handler.null() }
    return open.count >= JSONLimits.depth
  }

  /// Whether the handler has been told of all open containers.
  private var isWithinDepth: Bool { open.count <= JSONLimits.depth }

  private mutating func readKey(orElse expected: String) throws(JSONError) {
    guard cursor.byte == UInt8(ascii: "\"") else { throw cursor.unexpected(expecting: expected) }
    let token = try cursor.readString()
    if isWithinDepth { handler.key(token, in: cursor) }
    cursor.skipWhitespace()
    guard cursor.byte == UInt8(ascii: ":") else { throw cursor.unexpected(expecting: "':'") }
    cursor.position += 1
    cursor.skipWhitespace()
  }
}

/// The limits of a text.
enum JSONLimits {
  /// How deeply arrays and objects may be nested.
  static let depth = 512

  static func explanation(of code: JSONError.Code) -> String {
    code == .tooDeep
      ? "more than \(depth) nested arrays and objects" : "a number beyond the largest Double, about 1.8e308"
  }
}
