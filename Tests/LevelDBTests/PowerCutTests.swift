import Files
import Foundation
import LevelDB
import Locks
import TestSupport
import Testing

/// Cuts the power after each operation, on a disk that keeps as little as it may, and on one that keeps everything. The
/// former keeps the bytes of a file as of its last flush, and the names of a folder as of the folder's last flush.
@Suite struct PowerCutTests {
  @Test func afterAPowerCutAtAnyPointAllAcknowledgedEntriesAreThere() throws {
    try withTemporaryFolder { folder in
      let path = folder.path("db")
      let events = Lock<[Event]>([])
      record(path, count: 24) { event in events.withLock { $0.append(event) } }
      let history = events.withLock { $0 }
      #expect(history.count > 100)

      let expected = (1...24).map { Entry($0, byteCount: 8000) }
      var disk = Disk()
      var acknowledged = 0
      for (index, event) in history.enumerated() {
        switch event {
        case .acknowledged(let number): acknowledged = number
        case .operation(let operation): disk.apply(operation)
        }
        for (kind, files) in [("least", disk.flushed), ("most", disk.live)] {
          let copy = folder.path("copy")
          try disk.write(files, to: copy)
          var entries: [Entry] = []
          do {
            entries = try withDatabase(copy, .readOnly) { try $0.entries() }
          } catch let error as DatabaseError where error.code == .notFound {
            // Not even its creation has survived, which is right as long as nothing was acknowledged.
          }
          let comment = Comment(rawValue: "\(kind) of what may survive event \(index)")
          #expect(entries.count >= acknowledged, comment)
          #expect(entries == Array(expected.prefix(entries.count)), comment)
          try FileManager.default.removeItem(atPath: copy)
        }
      }
      #expect(acknowledged == 24)
    }
  }

  private enum Event: Sendable {
    case operation(FileOperation)
    case acknowledged(Int)
  }

  private func record(_ path: String, count: Int, _ report: @escaping @Sendable (Event) -> Void) {
    #expect(throws: Never.self) {
      let hook: FileHook = { operation in
        report(.operation(operation))
        return .proceed
      }
      for numbers in [1...count / 2, (count / 2 + 1)...count] {
        try withDatabase(path, .existingOrNew, options: .small, hook: hook) { database in
          for number in numbers {
            try database.store([number], byteCount: 8000, sync: true)
            report(.acknowledged(number))
          }
        }
      }
    }
  }
}

/// A folder on a disk: what programs see of it, and what a power cut must leave.
private struct Disk {
  private struct File {
    var live: [UInt8] = []
    var flushed: [UInt8] = []

    mutating func write(_ bytes: [UInt8], at offset: Int) {
      live.replaceSubrange(offset..<min(offset + bytes.count, live.count), with: bytes)
    }
  }
  private var files: [File] = []
  private var liveNames: [String: Int] = [:]
  private var flushedNames: [String: Int] = [:]

  var live: [String: [UInt8]] { liveNames.mapValues { files[$0].live } }
  var flushed: [String: [UInt8]] { flushedNames.mapValues { files[$0].flushed } }

  mutating func apply(_ operation: FileOperation) {
    switch operation.kind {
    case .makeFolder: break
    case .syncFolder: flushedNames = liveNames
    case .create:
      // An existing file is emptied, and keeps its old bytes on the disk until it is flushed.
      if let file = liveNames[operation.name] {
        files[file].live = []
      } else {
        liveNames[operation.name] = files.count
        files.append(File())
      }
    case .write: files[liveNames[operation.name]!].write(operation.bytes, at: Int(operation.offset))
    case .sync: files[liveNames[operation.name]!].flushed = files[liveNames[operation.name]!].live
    case .rename:
      let name = operation.newPath!.split(separator: "/").last.map(String.init)!
      liveNames[name] = liveNames.removeValue(forKey: operation.name)
    case .remove: liveNames[operation.name] = nil
    }
  }

  /// Writes these files into a new folder.
  func write(_ files: [String: [UInt8]], to path: String) throws {
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    for (name, bytes) in files { try Data(bytes).write(to: URL(filePath: "\(path)/\(name)")) }
  }
}
