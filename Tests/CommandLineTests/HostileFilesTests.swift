import Foundation
import KeyedArchiving
import TestSupport
import Testing

/// How much memory an import takes, in its own process, for a small file that was made to take much.
@Suite struct HostileFilesTests {
  /// An archive with these entries after `$null`, under this dictionary at its top.
  private func archive(
    _ make: (inout BinaryPropertyListWriter) throws(ArchiveError) -> (top: Int, entries: [Int])
  ) throws -> [UInt8] {
    try BinaryPropertyListWriter.bytes { (writer) throws(ArchiveError) in
      let null = try writer.string("$null")
      let (top, entries) = try make(&writer)
      let keys = try [writer.string("$archiver"), writer.string("$top"), writer.string("$objects")]
      return try writer.dictionary(
        keys: keys, values: [writer.string("NSKeyedArchiver"), top, writer.array([null] + entries)])
    }
  }

  private func root(_ writer: inout BinaryPropertyListWriter) throws(ArchiveError) -> Int {
    try writer.dictionary(keys: [writer.string("root")], values: [writer.uid(1)])
  }

  private func described(
    _ name: String, _ writer: inout BinaryPropertyListWriter
  ) throws(ArchiveError) -> Int {
    try writer.dictionary(keys: [writer.string("$classname")], values: [writer.string(name)])
  }

  /// Thousands of objects with one long name.
  private func longNames() throws -> [UInt8] {
    try archive { (writer) throws(ArchiveError) in
      let keys = try [writer.string("$class"), writer.string("name")]
      let values = try [writer.uid(3), writer.uid(4)]
      var entries = [0, 0]
      entries[1] = try described("NSArray", &writer)
      entries.append(try described("Person", &writer))
      entries.append(try writer.string(String(repeating: "name", count: 75_000)))
      var elements: [Int] = []
      for _ in 0..<6_000 {
        elements.append(try writer.uid(UInt32(entries.count + 1)))
        entries.append(try writer.dictionary(keys: keys, values: values))
      }
      entries[0] = try writer.dictionary(
        keys: [keys[0], writer.string("NS.objects")], values: [writer.uid(2), writer.array(elements)])
      return (try root(&writer), entries)
    }
  }

  /// An object with thousands of fields of one long name.
  private func longKeys() throws -> [UInt8] {
    try archive { (writer) throws(ArchiveError) in
      let key = try writer.string(String(repeating: "key", count: 70_000))
      let value = try writer.integer(1)
      let object = try writer.dictionary(
        keys: Array(repeating: key, count: 40_000) + [writer.string("$class")],
        values: Array(repeating: value, count: 40_000) + [writer.uid(2)])
      return (try root(&writer), [object, try described("Person", &writer)])
    }
  }

  /// Thousands of values at the top under one long name.
  private func longTop() throws -> [UInt8] {
    try archive { (writer) throws(ArchiveError) in
      let key = try writer.string(String(repeating: "top", count: 70_000))
      let value = try writer.integer(1)
      return (
        try writer.dictionary(
          keys: Array(repeating: key, count: 40_000), values: Array(repeating: value, count: 40_000)), []
      )
    }
  }

  /// Lists that double at each level.
  private func doubled() throws -> [UInt8] {
    try archive { (writer) throws(ArchiveError) in
      let keys = try [writer.string("$class"), writer.string("NS.objects")]
      let classReference = try writer.uid(41)
      var entries: [Int] = []
      for level in 0..<40 {
        let next = try writer.uid(UInt32(level + 2))
        let elements = level < 39 ? [next, next] : []
        entries.append(try writer.dictionary(keys: keys, values: [classReference, writer.array(elements)]))
      }
      entries.append(try described("NSArray", &writer))
      return (try root(&writer), entries)
    }
  }

  /// The most memory that the program takes, in bytes; nil if it can't be measured.
  private func peak(_ arguments: [String]) throws -> (byteCount: Int, code: Int32)? {
    let script = """
      import resource, subprocess, sys
      code = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode
      print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, code)
      """
    let result = try run("python3", ["-c", script, journalPath] + arguments)
    let words = String(decoding: result.output, as: UTF8.self).split { $0.isWhitespace }
    guard words.count == 2, let kilobytes = Int(words[0]), let code = Int32(words[1]) else { return nil }
    return (kilobytes * 1024, code)
  }

  @Test func importsTakeMemoryInProportionToTheirFiles() throws {
    try withTemporaryFolder { folder in
      let tame = folder.path("tame")
      let person = ArchiveNode(ArchivedClass("Person"), ["name": .string("Ana")])
      try Data(ArchiveNode.array([.node(person)]).archived()).write(to: URL(filePath: tame))
      let base = try #require(try peak(["import", folder.path("T.journal"), "archive", tame]))
      #expect(base.code == 0)
      for (name, bytes) in try [
        ("names", longNames()), ("keys", longKeys()), ("top", longTop()), ("doubled", doubled()),
      ] {
        let file = folder.path(name)
        try Data(bytes).write(to: URL(filePath: file))
        for options in [["--inspect"], []] {
          let arguments = ["import", folder.path("\(name).journal"), "archive", file] + options
          let taken = try #require(try peak(arguments))
          #expect((0...2).contains(taken.code), "\(name) \(options): ended with \(taken.code)")
          // The texts that the items of a small file share may have 68 MiB; they are in memory twice for a moment.
          let allowed = 160 << 20 + 150 * bytes.count
          #expect(
            taken.byteCount - base.byteCount < allowed,
            "\(name) \(options): \(taken.byteCount - base.byteCount) bytes more for a file of \(bytes.count)")
        }
      }
    }
  }
}
