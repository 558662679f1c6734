import Foundation
import JournalMaintenance
import Journaling
import LogbookModel
import PostgresLog
import TestSupport
import Testing

/// The memory that images take on their way to the server and back.
@Suite(
  .enabled(
    if: PostgresServer.isInstalled && peakByteCount != nil,
    "it needs PostgreSQL, and a system that reports memory"))
struct ImageMemoryTests: SharedLogbook {
  /// In a process of its own, because other tests take memory too.
  @Test func theMemoryThatAnImageTakesDoesNotGrowWithItsSize() async {
    await #expect(processExitsWith: .success) { try ImageMemoryTests().sendAndFetch() }
  }

  fileprivate func sendAndFetch() throws {
    let address = try PostgresServer.shared.get().makeDatabase()
    try withTemporaryFolder { folder in
      try share(at: address, in: folder)
      let nodes = try nodes(2, at: address, in: folder)
      var peaks: [Int] = []
      for megabytes in [16, 128] {
        let writer = try nodes[0].blobs.writer()
        for number in 0..<megabytes { try writer.write(Data(repeating: UInt8(number), count: 1 << 20)) }
        let image = try writer.finish()
        try nodes[0].commit { try $0.write(2, "\(megabytes)", blob: image) }
        try nodes[1].catchUp()
        try nodes[1].blobs.fetch(image)
        #expect(try nodes[1].statistics().blobCount == peaks.count + 1)
        peaks.append(try #require(peakByteCount))
      }
      print("memory: \(peaks.map { $0 >> 20 }) MiB for images of 16 and 128 MiB")
      // The larger image would take 112 MiB more.
      #expect(peaks[1] < peaks[0] + (32 << 20), "\(peaks)")
      for node in nodes { try node.close() }
    }
  }
}

/// The most resident memory that this process has had, in bytes; nil if the system does not report it.
private var peakByteCount: Int? {
  guard let text = try? String(contentsOfFile: "/proc/self/status", encoding: .utf8),
    let found = text.firstMatch(of: /VmHWM:\s*([0-9]+) kB/)
  else { return nil }
  return Int(found.1).map { $0 << 10 }
}
