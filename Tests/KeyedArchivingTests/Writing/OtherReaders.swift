import Foundation
import TestSupport
import Testing

/// Another program that reads property lists, if it is installed.
struct OtherReader: Sendable {
  let path: String

  static let python = Programs.python.map { OtherReader(path: $0) }
  static let plutil = Programs.plutil.map { OtherReader(path: $0) }

  /// Runs the program. Returns what it prints, and whether it succeeded.
  func run(_ arguments: [String]) throws -> (output: String, succeeded: Bool) {
    let (output, succeeded) = try Programs.run(path, arguments, withErrors: true)
    return (String(decoding: output, as: UTF8.self), succeeded)
  }
}

/// What Python's plistlib reads from each list, as text that distinguishes all values and types.
///
/// A letter gives the type. Reals are given as their bits, strings as their UTF-16 units.
func pythonTexts(_ lists: [[UInt8]]) throws -> [String] {
  let python = try #require(OtherReader.python)
  let script = """
    import plistlib, struct, sys, datetime
    def text(v):
      if v is None: return "n"
      if isinstance(v, bool): return "b1" if v else "b0"
      if isinstance(v, plistlib.UID): return "u%d" % v.data
      if isinstance(v, int): return "i%d" % v
      if isinstance(v, float): return "r" + struct.pack(">d", v).hex()
      if isinstance(v, datetime.datetime):
        return "d%d" % round((v - datetime.datetime(2001, 1, 1)).total_seconds())
      if isinstance(v, bytes): return "D" + v.hex()
      if isinstance(v, str): return "s" + v.encode("utf-16-be", "surrogatepass").hex()
      if isinstance(v, list): return "[" + " ".join(text(e) for e in v) + "]"
      return "{" + " ".join(sorted(text(k) + "=" + text(e) for k, e in v.items())) + "}"
    for path in sys.argv[1:]:
      with open(path, "rb") as file: print(text(plistlib.load(file)))
    """
  return try withTemporaryFolder { folder in
    let paths = try lists.enumerated().map { index, bytes in
      let path = folder.path("\(index).plist")
      try Data(bytes).write(to: URL(filePath: path))
      return path
    }
    let (output, succeeded) = try python.run(["-c", script] + paths)
    try #require(succeeded, "\(output)")
    return output.split(separator: "\n").map(String.init)
  }
}

/// The text that `pythonTexts` gives for a string.
func pythonText(_ text: String) -> String {
  "s" + text.utf16.map { hex(UInt64($0), digits: 4) }.joined()
}

func hex(_ value: UInt64, digits: Int) -> String {
  let text = String(value, radix: 16)
  return String(repeating: "0", count: digits - text.count) + text
}

/// Expects `plutil -lint` to find nothing wrong. Without plutil, Foundation reads the list.
func expectSound(_ list: [UInt8], sourceLocation: SourceLocation = #_sourceLocation) throws {
  guard let plutil = OtherReader.plutil else {
    _ = unsafe try PropertyListSerialization.propertyList(from: Data(list), format: nil)
    return
  }
  try withTemporaryFolder { folder in
    let path = folder.path("list.plist")
    try Data(list).write(to: URL(filePath: path))
    let (output, succeeded) = try plutil.run(["-lint", path])
    #expect(succeeded, "\(output)", sourceLocation: sourceLocation)
  }
}
