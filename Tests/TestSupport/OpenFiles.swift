import Foundation

/// What this process has open: the paths of files, and names for sockets and pipes. Only on systems with `/proc`.
package func openFilePaths() throws -> [String] {
  let folder = "/proc/self/fd"
  return try FileManager.default.contentsOfDirectory(atPath: folder).compactMap { descriptor in
    // One may have been closed by now.
    try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\(descriptor)")
  }
}
