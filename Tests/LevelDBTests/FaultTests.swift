import Files
import Foundation
import LevelDB
import TestSupport
import Testing

/// What is flushed and when, and what happens when the system reports an error.
@Suite struct FaultTests {
  // MARK: The order of flushes

  @Test func aNewFileIsWrittenThenFlushedAndThenItsNameIsFlushed() throws {
    try withTemporaryFolder { folder in
      let path = folder.path("db")
      let recorder = Recorder()
      try withDatabase(path, .existingOrNew, hook: recorder.hook) { database in
        try database.store([1, 2], sync: true)
      }
      let log = try newest(".log", in: path)
      let operations = recorder.operations
      let start = try #require(operations.firstIndex { $0.name == log })
      let kinds = operations[start...].filter { $0.name == log || $0.kind == .syncFolder }.map(\.kind)
      // The manifest's flush and the renaming of CURRENT come after the log was made and before it is used.
      let ends: [FileOperation.Kind] = [.write, .sync, .syncFolder, .write, .sync]
      #expect(kinds.first == .create)
      #expect(Array(kinds.suffix(5)) == ends)
      #expect(operations.last { $0.name == log && $0.kind == .write }?.offset ?? 0 > 0)
    }
  }

  @Test func renamingIsFollowedByAFlushOfTheFolder() throws {
    try withTemporaryFolder { folder in
      let recorder = Recorder()
      try withDatabase(folder.path("db"), .existingOrNew, hook: recorder.hook) { _ in }
      let operations = recorder.operations
      let renames = operations.indices.filter { operations[$0].kind == .rename }
      #expect(!renames.isEmpty)
      for index in renames {
        #expect(operations[index].newPath == folder.path("db/CURRENT"))
        #expect(operations[index + 1].kind == .syncFolder)
        #expect(operations[index + 1].path == folder.path("db"))
      }
    }
  }

  @Test func theHookSeesTheBytesThatAreWritten() throws {
    try withTemporaryFolder { folder in
      let path = folder.path("db")
      let recorder = Recorder()
      try withDatabase(path, .existingOrNew, options: .small, hook: recorder.hook) { try $0.store(1...2000) }
      for (name, bytes) in try contents(of: path) where name.hasSuffix(".log") || name.hasSuffix(".ldb") {
        let writes = recorder.operations.filter { $0.kind == .write && $0.name == name }
        #expect(Data(writes.flatMap(\.bytes)) == bytes)
        #expect(
          writes.map(\.offset) == writes.indices.map { UInt64(writes[..<$0].map(\.bytes.count).reduce(0, +)) }
        )
      }
    }
  }

  // MARK: Failures

  @Test(arguments: [FileOperation.Kind.write, .sync], [ENOSPC, EIO])
  func nothingIsWrittenAfterAFailedCommit(kind: FileOperation.Kind, error: Int32) throws {
    try withTemporaryFolder { folder in
      let path = folder.path("db")
      let recorder = Recorder()
      let database = try Database(path: path, access: .existingOrNew, hook: recorder.hook)
      try database.store(1...3, sync: true)
      // It fails only once: space is free again at once, and still no write is accepted.
      let failures = Counter()
      recorder.decide { operation, _ in
        operation.kind == kind && failures.increment() == 1 ? .fail(error) : .proceed
      }
      let failure = #expect(throws: DatabaseError.self) { try database.store([4], sync: true) }
      #expect(failure?.code == .io)
      #expect(failure?.osError == error)
      #expect(failure?.message.contains(".log") == true)
      let count = recorder.operations.count
      #expect(code { try database.store([5], sync: true) } == .poisoned)
      #expect(code { try database.store([6]) } == .poisoned)
      #expect(try database.value(for: key(3)) == value(3))
      database.close()
      #expect(recorder.operations.count == count)
      let entries = try withDatabase(path, .existing) { try $0.entries() }
      // The failed entry is wholly there or wholly absent.
      #expect(entries == (1...3).map { Entry($0) } || entries == (1...4).map { Entry($0) })
    }
  }

  @Test func aShortWriteIsContinued() throws {
    try withTemporaryFolder { folder in
      let path = folder.path("db")
      let recorder = Recorder { operation, _ in
        operation.kind == .write && operation.bytes.count > 10 ? .short(10) : .proceed
      }
      try withDatabase(path, .existingOrNew, hook: recorder.hook) { try $0.store(1...20) }
      try withDatabase(path, .existing) { database throws in
        #expect(try database.entries() == (1...20).map { Entry($0) })
      }
    }
  }

  @Test func aFailureInTheBackgroundStopsWritesAndNotReads() throws {
    try withTemporaryFolder { folder in
      let path = folder.path("db")
      let recorder = Recorder { operation, _ in
        operation.kind == .create && operation.name.hasSuffix(".ldb") ? .fail(ENOSPC) : .proceed
      }
      let database = try Database(path: path, access: .existingOrNew, options: .small, hook: recorder.hook)
      var stored = 0
      let failure = #expect(throws: DatabaseError.self) {
        for number in 1...100_000 {
          try database.store([number])
          stored = number
        }
      }
      #expect(failure?.code == .poisoned || failure?.code == .io)
      #expect(failure?.message.contains(".ldb") == true)
      #expect(try database.entries().prefix(stored) == (1...stored).map { Entry($0) }[...])
      database.close()
      let entries = try withDatabase(path, .existing) { try $0.entries() }
      #expect(entries.prefix(stored) == (1...stored).map { Entry($0) }[...])
    }
  }

  /// The record is in the log before a compaction fails, and is flushed afterwards. It would be wrong to say that nothing
  /// was tried.
  @Test func aWriteDuringWhichACompactionFailsMayBeThere() throws {
    try withTemporaryFolder { folder in
      let path = folder.path("db")
      let logs = Counter()
      let (isWritten, hasFailed) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
      let database = try Database(path: path, access: .existingOrNew, options: .small) { operation in
        switch (operation.kind, operation.name.suffix(4)) {
        case (.create, ".log"): _ = logs.increment()
        case (.create, ".ldb"):
          #expect(isWritten.wait(timeout: .now() + 300) == .success)
          hasFailed.signal()
          return .fail(ENOSPC)
        case (.sync, ".log") where logs.value > 1:
          isWritten.signal()
          #expect(hasFailed.wait(timeout: .now() + 300) == .success)
          // The failure is noted after this hook has returned.
          usleep(2_000_000)
        default: break
        }
        return .proceed
      }
      var number = 0
      let failure = #expect(throws: DatabaseError.self) {
        while true {
          number += 1
          try database.store([number], sync: true)
        }
      }
      #expect(failure?.code == .io)
      #expect(code { try database.store([number + 1], sync: true) } == .poisoned)
      database.close()
      let entries = try withDatabase(path, .existing) { try $0.entries() }
      #expect(entries.count == number && entries.last == Entry(number), "\(entries.count) of \(number)")
    }
  }

  /// The failures of a sweep: how the operation fails, and whether all later ones do as well.
  enum Fault: CaseIterable, Sendable {
    case ioError, diskFullFromThenOn, halfWritten, halfWrittenFromThenOn

    var error: Int32 { self == .ioError ? EIO : ENOSPC }
    var stays: Bool { self == .diskFullFromThenOn || self == .halfWrittenFromThenOn }
    var isShort: Bool { self == .halfWritten || self == .halfWrittenFromThenOn }
  }

  @Test(arguments: Fault.allCases)
  func afterAFaultAtAnyOperationWhatIsFoundIsAPrefixWithAllAcknowledgedEntries(fault: Fault) throws {
    try withTemporaryFolder { folder in
      var index = 0
      var isHit = true
      while isHit {
        let path = folder.path("db\(index)")
        let faulty = index
        let recorder = Recorder { operation, index in
          if index == faulty {
            guard fault.isShort, operation.kind == .write, operation.bytes.count > 1 else {
              return .fail(fault.error)
            }
            return .short(operation.bytes.count / 2)
          }
          // What is left of a half-written write comes as the next operation.
          if fault.isShort, index == faulty + 1 { return .fail(fault.error) }
          return fault.stays && index > faulty ? .fail(fault.error) : .proceed
        }
        let acknowledged = work(path, recorder.hook)
        isHit = recorder.operations.count > faulty
        try expectPrefix(of: path, atLeast: acknowledged, "\(fault) at operation \(faulty)")
        try? FileManager.default.removeItem(atPath: path)
        index += 1
      }
      #expect(index > 50)
    }
  }

  private static let byteCount = 16_000
  private static let count = 12
  private static let expected = (1...count).map { Entry($0, byteCount: byteCount) }

  /// Creates a database, stores entries in two sessions, and returns how many were acknowledged.
  private func work(_ path: String, _ hook: @escaping FileHook) -> Int {
    var acknowledged = 0
    for numbers in [1...8, 9...Self.count] {
      guard
        let database = try? Database(path: path, access: .existingOrNew, options: .small, hook: hook)
      else { return acknowledged }
      for number in numbers {
        guard (try? database.store([number], byteCount: Self.byteCount, sync: true)) != nil else { break }
        acknowledged = number
      }
      database.close()
      guard acknowledged == numbers.upperBound else { break }
    }
    return acknowledged
  }

  private func expectPrefix(of path: String, atLeast acknowledged: Int, _ comment: String) throws {
    var entries: [Entry] = []
    do {
      entries = try withDatabase(path, .readOnly) { try $0.entries() }
    } catch let error as DatabaseError where error.code == .notFound {
      // Not even its creation was finished.
    }
    #expect(entries.count >= acknowledged, Comment(rawValue: comment))
    #expect(entries == Array(Self.expected.prefix(entries.count)), Comment(rawValue: comment))
  }
}
