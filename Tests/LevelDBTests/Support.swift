import Files
import Foundation
import LevelDB
import Locks
import TestSupport

/// The key of entry `number`: a tag and a big-endian number, as the journal's keys are.
func key(_ number: Int) -> [UInt8] {
  [UInt8(ascii: "e")] + (0..<8).reversed().map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
}

/// A value that belongs to entry `number` only.
func value(_ number: Int, byteCount: Int = 100) -> [UInt8] {
  var state = UInt64(truncatingIfNeeded: number) &* 0x9E37_79B9_7F4A_7C15 | 1
  var bytes: [UInt8] = []
  bytes.reserveCapacity(byteCount + 7)
  while bytes.count < byteCount {
    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    unsafe withUnsafeBytes(of: state) { unsafe bytes.append(contentsOf: $0) }
  }
  bytes.removeLast(bytes.count - byteCount)
  return bytes
}

struct Entry: Equatable {
  var key: [UInt8]
  var value: [UInt8]

  init(_ number: Int, byteCount: Int = 100) {
    key = LevelDBTests.key(number)
    value = LevelDBTests.value(number, byteCount: byteCount)
  }

  init(key: [UInt8], value: [UInt8]) {
    self.key = key
    self.value = value
  }
}

extension Database {
  /// Stores entries with these numbers, each in a batch of its own.
  func store(_ numbers: some Sequence<Int>, byteCount: Int = 100, sync: Bool = false) throws {
    for number in numbers {
      try write([(key(number), LevelDBTests.value(number, byteCount: byteCount))], sync: sync)
    }
  }

  /// All entries, or those between two keys.
  func entries(
    from first: [UInt8] = [], through last: [UInt8] = [0xff, 0xff], backwards: Bool = false
  ) throws -> [Entry] {
    var entries: [Entry] = []
    try unsafe scan(from: first, through: last, backwards: backwards) { key, value in
      entries.append(unsafe Entry(key: Array(key), value: Array(value)))
      return .next
    }
    return entries
  }
}

/// Opens a database, runs `body` with it, and closes it even if `body` throws.
func withDatabase<Result>(
  _ path: String, _ access: Database.Access, options: Database.Options = .init(), hook: FileHook? = nil,
  readHook: ReadHook? = nil, _ body: (Database) throws -> Result
) throws -> Result {
  let database = try Database(path: path, access: access, options: options, hook: hook, readHook: readHook)
  defer { database.close() }
  return try body(database)
}

extension Database.Options {
  /// The smallest write buffer that LevelDB allows, so that few entries make several files.
  static var small: Database.Options {
    var options = Database.Options()
    options.writeBufferByteCount = 64 << 10
    options.blockByteCount = 1 << 10
    return options
  }

  /// The same, and each opening makes a table of the log.
  static var smallTables: Database.Options {
    var options = Database.Options.small
    options.keptLogByteCount = 0
    return options
  }
}

// MARK: Folders

/// The bytes of every file in a folder, by name.
func contents(of folder: String) throws -> [String: Data] {
  let names = try FileManager.default.contentsOfDirectory(atPath: folder)
  return try Dictionary(
    uniqueKeysWithValues: names.map { name in
      (name, try Data(contentsOf: URL(filePath: "\(folder)/\(name)")))
    })
}

/// The name of the newest file with this suffix or prefix: the numbers in the names grow.
func newest(_ part: String, in folder: String) throws -> String {
  let names = try FileManager.default.contentsOfDirectory(atPath: folder)
  guard let name = names.filter({ $0.hasSuffix(part) || $0.hasPrefix(part) }).max() else {
    throw CocoaError(.fileNoSuchFile)
  }
  return name
}

/// Changes the bytes of a file in place.
func edit(_ path: String, _ change: (inout [UInt8]) -> Void) throws {
  let url = URL(filePath: path)
  var bytes = [UInt8](try Data(contentsOf: url))
  change(&bytes)
  try Data(bytes).write(to: url)
}

// MARK: Hooks

/// Records the operations on the disk, and makes those fail that a test chooses.
final class Recorder: Sendable {
  private struct State {
    var operations: [FileOperation] = []
    var verdict: @Sendable (_ operation: FileOperation, _ index: Int) -> FileVerdict
  }
  private let state: Lock<State>

  init(_ verdict: @escaping @Sendable (FileOperation, Int) -> FileVerdict = { _, _ in .proceed }) {
    state = Lock(State(verdict: verdict))
  }

  var hook: FileHook {
    { operation in
      self.state.withLock { state in
        state.operations.append(operation)
        return state.verdict(operation, state.operations.count - 1)
      }
    }
  }

  var operations: [FileOperation] { state.withLock { $0.operations } }

  /// From now on, `verdict` decides how operations end.
  func decide(_ verdict: @escaping @Sendable (FileOperation, Int) -> FileVerdict) {
    state.withLock { $0.verdict = verdict }
  }
}

extension FileOperation {
  /// The last part of the path.
  var name: String { path.split(separator: "/").last.map(String.init) ?? "" }

  /// Whether it writes the zeros after a log.
  var isOfZeros: Bool { kind == .write && bytes.allSatisfy { $0 == 0 } }
}

/// A counter that several threads may increment.
final class Counter: Sendable {
  private let number: Lock<Int>

  init(_ number: Int = 0) { self.number = Lock(number) }

  var value: Int { number.withLock { $0 } }

  /// Adds one, and returns the new value.
  @discardableResult
  func increment() -> Int {
    number.withLock { number in
      number += 1
      return number
    }
  }
}
