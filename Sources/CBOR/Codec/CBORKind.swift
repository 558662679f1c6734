package enum CBORKind: Sendable {
  case unsigned
  case negative
  case bytes
  case text
  case array
  case map
  case date
  case bool
  case null
  case double
}

extension CBORReader {
  /// The kind of the next item, without skipping it.
  @inline(__always)
  package func kind() throws(CBORError) -> CBORKind {
    let first = try peek()
    switch first >> 5 {
    case CBORMajor.unsigned.rawValue: return .unsigned
    case CBORMajor.negative.rawValue: return .negative
    case CBORMajor.bytes.rawValue: return .bytes
    case CBORMajor.text.rawValue: return .text
    case CBORMajor.array.rawValue: return .array
    case CBORMajor.map.rawValue: return .map
    case CBORMajor.tag.rawValue: return .date
    default:
      switch first {
      case CBORByte.false, CBORByte.true: return .bool
      case CBORByte.null: return .null
      case CBORByte.half, CBORByte.single, CBORByte.double: return .double
      default: throw CBORError(.unsupported, at: offset)
      }
    }
  }

  package mutating func readBool() throws(CBORError) -> Bool {
    let first = try peek()
    guard first == CBORByte.true || first == CBORByte.false else {
      throw CBORError(.unexpectedItem, at: offset)
    }
    offset += 1
    return first == CBORByte.true
  }

  package mutating func readNull() throws(CBORError) {
    guard try peek() == CBORByte.null else { throw CBORError(.unexpectedItem, at: offset) }
    offset += 1
  }

  /// Reads a date, as seconds since 2001-01-01T00:00:00Z.
  package mutating func readDate() throws(CBORError) -> Double {
    let start = offset
    guard try argument(.tag) == CBORTag.foundationDate else { throw CBORError(.unsupported, at: start) }
    return try readDouble()
  }
}
