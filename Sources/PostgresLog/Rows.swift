import CLibPQ
import Journaling

/// The result of a statement: rows of values in binary form.
///
/// Safe to use from any thread: libpq does not change a returned result.
@safe
final class Rows: Sendable {
  private nonisolated(unsafe) let result: OpaquePointer

  init(_ result: OpaquePointer) { unsafe self.result = unsafe result }

  deinit { unsafe PQclear(result) }

  /// Why the statement failed; nil if it succeeded.
  var failure: ServerFailure? {
    switch unsafe PQresultStatus(result) {
    case PGRES_TUPLES_OK, PGRES_COMMAND_OK, PGRES_EMPTY_QUERY: return nil
    default: break
    }
    // Field C is the SQLSTATE, and field M the message.
    let state = unsafe PQresultErrorField(result, Int32(UInt8(ascii: "C"))).map { unsafe String(cString: $0) }
    let message = unsafe PQresultErrorField(result, Int32(UInt8(ascii: "M"))).map {
      unsafe String(cString: $0)
    }
    let whole = unsafe PQresultErrorMessage(result).map { unsafe String(cString: $0) }
    // If there is no code, libpq itself has failed. 57P01 to 57P05 end the session. After 08 and 40003 the outcome is
    // unknown.
    let isLost = state == nil || state!.hasPrefix("57P0") || state!.hasPrefix("08") || state! == "40003"
    return ServerFailure(isLost ? .lost : .refused, state: state ?? "", message ?? whole ?? "")
  }

  var count: Int { Int(unsafe PQntuples(result)) }

  /// Calls `body` with the bytes of a value. NULL has no bytes.
  func withBytes<Result, Failure: Error>(
    _ row: Int, _ column: Int, _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    let count = Int(unsafe PQgetlength(result, Int32(row), Int32(column)))
    let value = unsafe PQgetvalue(result, Int32(row), Int32(column))
    return try unsafe body(UnsafeRawBufferPointer(start: value, count: count))
  }

  func isNull(_ row: Int, _ column: Int) -> Bool {
    unsafe PQgetisnull(result, Int32(row), Int32(column)) == 1
  }

  func bytes(_ row: Int, _ column: Int) -> [UInt8] {
    unsafe withBytes(row, column) { unsafe Array($0) }
  }

  func text(_ row: Int, _ column: Int) -> String {
    unsafe withBytes(row, column) { unsafe String(decoding: $0, as: UTF8.self) }
  }

  /// An integer of 2, 4 or 8 bytes, or a boolean.
  func integer(_ row: Int, _ column: Int) -> Int {
    unsafe withBytes(row, column) { bytes in
      let isNegative = unsafe bytes.count > 1 && bytes[0] >= 128
      return unsafe bytes.reduce(isNegative ? -1 : 0) { $0 << 8 | Int($1) }
    }
  }
}

extension Connection.Parameter {
  static func bytes(_ bytes: [UInt8]) -> Self { Self(type: 17, bytes: bytes) }
  static func text(_ text: String) -> Self { Self(type: 25, bytes: Array(text.utf8)) }
  static func uuid(_ bytes: [UInt8]) -> Self { Self(type: 2950, bytes: bytes) }
  static func integer(_ number: Int) -> Self {
    var bytes: [UInt8] = []
    bytes.append(bigEndian: UInt64(bitPattern: Int64(number)))
    return Self(type: 20, bytes: bytes)
  }

  static func integers(_ numbers: [Int]) -> Self {
    array(1016, of: 20, count: numbers.count, byteCount: 12 * numbers.count) { array in
      for number in numbers {
        array.append(bigEndian: UInt32(8))
        array.append(bigEndian: UInt64(bitPattern: Int64(number)))
      }
    }
  }

  static func manyBytes(_ many: [[UInt8]]) -> Self {
    array(1001, of: 17, count: many.count, byteCount: many.reduce(4 * many.count) { $0 + $1.count }) {
      array in
      for bytes in many {
        array.append(bigEndian: UInt32(bytes.count))
        array += bytes
      }
    }
  }

  /// PostgreSQL's binary form of an array: the number of dimensions, whether there are nulls, the type of the elements,
  /// their number, the index of the first, and then each element after its length.
  private static func array(
    _ type: UInt32, of element: UInt32, count: Int, byteCount: Int, _ fill: (inout [UInt8]) -> Void
  ) -> Self {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(20 + byteCount)
    for number in [1, 0, element, UInt32(count), 1] { bytes.append(bigEndian: number) }
    fill(&bytes)
    return Self(type: type, bytes: bytes)
  }
}
