import Foundation

/// File systems that tests mount. Only the superuser can mount them; tests that need them are skipped otherwise.
package enum Mount {
  /// Whether file systems can be mounted here at all.
  package static let isPossible: Bool = {
    let made = try? withTemporaryFolder { folder in
      try with(["-t", "tmpfs", "-o", "size=1m", "none"], at: folder.path) { true }
    }
    return made ?? false
  }()

  /// Whether a file system of a kind can be made in a file and mounted.
  /// - Parameter isEncrypted: whether it is to have an ``encryptedFolder(in:)``, as ext4 can.
  package static func isPossible(_ kind: String, isEncrypted: Bool = false) -> Bool {
    let made = try? withTemporaryFolder { folder in
      let image = try make(kind, isEncrypted: isEncrypted, in: folder.path)
      let point = try self.point(in: folder.path)
      return try with(["-o", "loop", image], at: point) {
        if isEncrypted { _ = try encryptedFolder(in: point) }
        return true
      }
    }
    return made ?? false
  }

  /// A folder whose contents the kernel encrypts, as with `fscrypt`. Its key stays in a keyring of this session.
  package static func encryptedFolder(in point: String) throws -> String {
    let folder = "\(point)/encrypted"
    if FileManager.default.fileExists(atPath: folder) { return folder }
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
    try run("sh", ["-c", "echo secret | e4crypt add_key -q -S s:salt \"$0\" && sync -f \"$0\"", folder])
    return folder
  }

  /// Whether an overlay file system can be mounted.
  package static let isOverlayPossible: Bool = {
    let made = try? withTemporaryFolder { folder in
      try withOverlay(in: folder.path) { _, _ in try overlay(in: folder.path) { true } }
    }
    return made ?? false
  }()

  /// Makes the layers of an overlay in memory while `body` runs: the lower one can be filled before ``overlay(in:_:)``.
  package static func withOverlay<Result>(
    in folder: String, _ body: (_ lower: String, _ merged: String) throws -> Result
  ) throws -> Result {
    let layers = "\(folder)/layers"
    try FileManager.default.createDirectory(atPath: layers, withIntermediateDirectories: true)
    return try with(["-t", "tmpfs", "-o", "size=64m", "none"], at: layers) {
      for name in ["lower", "upper", "work"] {
        try FileManager.default.createDirectory(
          atPath: "\(layers)/\(name)", withIntermediateDirectories: true)
      }
      return try body("\(layers)/lower", try point(in: folder))
    }
  }

  /// Mounts the overlay while `body` runs.
  package static func overlay<Result>(in folder: String, _ body: () throws -> Result) throws -> Result {
    let layers = "\(folder)/layers"
    let options = "lowerdir=\(layers)/lower,upperdir=\(layers)/upper,workdir=\(layers)/work"
    return try with(["-t", "overlay", "-o", options, "none"], at: try point(in: folder), body)
  }

  /// Makes an empty file system in a file, and returns the file's path.
  package static func make(_ kind: String, isEncrypted: Bool = false, in folder: String) throws -> String {
    let image = "\(folder)/image"
    guard FileManager.default.createFile(atPath: image, contents: nil) else { throw POSIXError(.EIO) }
    // XFS needs 300 MB, of which nearly nothing is used.
    guard unsafe truncate(image, 320 << 20) == 0 else { throw POSIXError(.ENOSPC) }
    try run("mkfs.\(kind)", ["-q"] + (isEncrypted ? ["-O", "encrypt"] : []) + [image])
    return image
  }

  /// Makes an empty folder to mount something at.
  package static func point(in folder: String) throws -> String {
    let point = "\(folder)/mounted"
    try FileManager.default.createDirectory(atPath: point, withIntermediateDirectories: true)
    return point
  }

  /// Mounts a file system while `body` runs.
  package static func with<Result>(
    _ arguments: [String], at point: String, _ body: () throws -> Result
  ) throws -> Result {
    try run("mount", arguments + [point])
    let result = Swift.Result { try body() }
    try unmount(point)
    return try result.get()
  }

  /// Threads that have just ended may keep files open for a moment.
  private static func unmount(_ point: String) throws {
    for _ in 0..<50 {
      do { return try run("umount", [point]) } catch { usleep(100_000) }
    }
    try run("umount", [point])
  }

  private static func run(_ tool: String, _ arguments: [String]) throws {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = [tool] + arguments
    process.environment = ["PATH": "/usr/sbin:/usr/bin:/sbin:/bin"]
    let errors = Pipe()
    process.standardError = errors
    process.standardOutput = FileHandle.nullDevice
    try process.run()
    let said = try errors.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    guard process.terminationStatus == 0 else {
      throw ToolFailure(text: "\(tool) \(arguments): \(String(decoding: said, as: UTF8.self))")
    }
  }

  package struct ToolFailure: Error { package var text: String }
}
