package import Foundation

/// A folder that belongs to one test, and is removed with everything in it when the test ends.
///
/// Only `withTemporaryFolder` makes one and removes it, so that the folder can't disappear while a test still uses its
/// path.
package struct TemporaryFolder: Sendable {
  /// The absolute path of the folder, without a slash at its end.
  package let path: String

  /// The folder as a file URL.
  package var url: URL { URL(filePath: path, directoryHint: .isDirectory) }

  fileprivate init(inMemory: Bool = false) throws {
    let name = "journal-test-\(UUID().uuidString)"
    let memory = URL(filePath: "/dev/shm", directoryHint: .isDirectory)
    let isInMemory = inMemory && FileManager.default.isWritableFile(atPath: memory.path)
    let parent = isInMemory ? memory : FileManager.default.temporaryDirectory
    let url = parent.appending(path: name, directoryHint: .isDirectory)
    try FileManager.default.createDirectory(
      at: url, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    // Resolved, so that a test can compare it with paths that the system reports.
    path = url.resolvingSymlinksInPath().path(percentEncoded: false).trimmingSuffix("/")
  }

  /// The path of a file or folder in this folder; nothing is created.
  package func path(_ name: String) -> String { "\(path)/\(name)" }

  fileprivate func remove() {
    try? FileManager.default.removeItem(atPath: path)
  }
}

/// Calls `body` with a new, empty folder under the system's temporary directory and removes it afterwards.
///
/// - Throws: what `body` throws, or the reason why the folder can't be made.
package func withTemporaryFolder<Result>(_ body: (TemporaryFolder) throws -> Result) throws -> Result {
  try withTemporaryFolder(inMemory: false, body)
}

/// Calls `body` with a new, empty folder and removes it afterwards.
///
/// - Parameter inMemory: whether it is in memory, where there is some, for a test that flushes very often.
/// - Throws: what `body` throws, or the reason why the folder can't be made.
package func withTemporaryFolder<Result>(
  inMemory: Bool, _ body: (TemporaryFolder) throws -> Result
) throws -> Result {
  let folder = try TemporaryFolder(inMemory: inMemory)
  defer { folder.remove() }
  return try body(folder)
}

/// Calls `body` with a new, empty folder under the system's temporary directory and removes it afterwards.
///
/// - Throws: what `body` throws, or the reason why the folder can't be made.
package func withTemporaryFolder<Result>(
  isolation: isolated (any Actor)? = #isolation, _ body: (TemporaryFolder) async throws -> Result
) async throws -> Result {
  let folder = try TemporaryFolder()
  defer { folder.remove() }
  return try await body(folder)
}

extension String {
  fileprivate func trimmingSuffix(_ suffix: Character) -> String {
    var text = self
    while text.count > 1, text.last == suffix { text.removeLast() }
    return text
  }
}
