package import Foundation

/// Programs that tests use if they are installed. A name does not say enough: GNUstep has a `plutil` with other options,
/// and a small Python has no `plistlib`. So the first program of that name on the path that does what tests need counts.
package enum Programs {
  /// Python 3.9 or newer with its standard library.
  package static let python = find("python3") { path in
    let script = "import json, plistlib, resource, struct; plistlib.UID(1); {} | {}"
    return try run(path, ["-c", script]).succeeded
  }

  /// The `plutil` of Apple, which the toolchain for Linux has too: it tells sound property lists from others.
  package static let plutil = find("plutil") { path in
    try withTemporaryFolder { folder in
      let (sound, broken) = (folder.path("sound.plist"), folder.path("broken.plist"))
      try Data("<plist version=\"1.0\"><array/></plist>".utf8).write(to: URL(filePath: sound))
      try Data("<plist version=\"1.0\"><array></plist>".utf8).write(to: URL(filePath: broken))
      return try run(path, ["-lint", sound]).succeeded && !run(path, ["-lint", broken]).succeeded
    }
  }

  /// libplist's `plistutil`, which converts property lists.
  package static let plistutil = find("plistutil") { path in
    try withTemporaryFolder { folder in
      let (list, copy) = (folder.path("list.plist"), folder.path("copy.plist"))
      try Data("<plist version=\"1.0\"><array/></plist>".utf8).write(to: URL(filePath: list))
      return try run(path, ["-i", list, "-o", copy]).succeeded && FileManager.default.fileExists(atPath: copy)
    }
  }

  /// GNUstep's `plser`, which writes property lists in another form.
  package static let plser = find("plser") { path in
    try withTemporaryFolder { folder in
      let list = folder.path("list.plist")
      try Data("{ a = b; }".utf8).write(to: URL(filePath: list))
      return try run(path, ["-Format", "NSPropertyListBinaryFormat_v1_0", list]).output.starts(
        with: "bplist00".utf8)
    }
  }

  private static func find(_ name: String, _ isFit: (_ path: String) throws -> Bool) -> String? {
    let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
    let path = folders.map { "\($0)/\(name)" }.first { path in
      FileManager.default.isExecutableFile(atPath: path) && (try? isFit(path)) == true
    }
    if path == nil { print("There is no \(name) here that tests can use, so nothing is compared with it.") }
    return path
  }

  /// Runs a program. Returns what it prints, also its errors if these are wanted, and whether it succeeded.
  package static func run(
    _ path: String, _ arguments: [String], withErrors: Bool = false
  ) throws -> (output: Data, succeeded: Bool) {
    let process = Process()
    process.executableURL = URL(filePath: path)
    process.arguments = arguments
    let output = Pipe()
    process.standardOutput = output
    if withErrors { process.standardError = output } else { process.standardError = FileHandle.nullDevice }
    try process.run()
    let bytes = try output.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    return (bytes, process.terminationStatus == 0)
  }
}
