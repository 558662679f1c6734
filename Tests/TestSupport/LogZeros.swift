package import Foundation

/// Removes the zeros that the writer of a log of LevelDB has written ahead of later records. In what is left, each byte
/// belongs to a record.
///
/// - Parameter folder: of the database.
package func cutZerosAhead(ofLogsIn folder: URL) throws {
  for name in try FileManager.default.contentsOfDirectory(atPath: folder.path) where name.hasSuffix(".log") {
    let log = folder.appending(path: name)
    let bytes = try Data(contentsOf: log)
    try bytes.prefix(endOfRecords(bytes)).write(to: log)
  }
}

/// Where the records of a log of LevelDB end.
package func endOfRecords(_ log: Data) -> Int {
  // Fragments do not cross the end of a block. Each has a header: checksum (4 bytes), length (2), type (1).
  let (blockSize, headerSize) = (32768, 7)
  var end = 0
  while true {
    let left = blockSize - end % blockSize
    if left < headerSize { end += left }
    guard end + headerSize <= log.count, log[end + 6] != 0 else { return min(end, log.count) }
    end += headerSize + Int(log[end + 4]) + Int(log[end + 5]) << 8
  }
}
