import CatalogModel
import Foundation

/// What it takes to open a journal and read one item, in a process that does nothing else.
struct OpeningProbe: Codable {
  /// From the call that opens until the item is there.
  let seconds: Double
  /// The most memory that the process has had, that of its libraries included.
  let residentByteCount: Int

  /// Stands first on the command line of such a process.
  static let flag = "--opening-probe"

  /// Starts this program again as such a process, and gives what it reports.
  static func run(on journal: URL, item: Int) throws -> OpeningProbe {
    let child = Process()
    let output = Pipe()
    child.executableURL = Bundle.main.executableURL
    child.arguments = [flag, journal.path, String(item)]
    child.standardOutput = output
    try child.run()
    let report = output.fileHandleForReading.readDataToEndOfFile()
    child.waitUntilExit()
    guard child.terminationStatus == 0 else {
      throw PeerFailure(description: "The process that opens \(journal.path) failed.")
    }
    return try JSONDecoder().decode(OpeningProbe.self, from: report)
  }

  /// The whole of such a process.
  /// - Parameter arguments: what follows ``flag``.
  static func main(_ arguments: [String]) throws {
    guard arguments.count == 2, let number = Int(arguments[1]) else {
      throw WrongUse(message: "\(flag) is for the benchmark's own use.")
    }
    let url = URL(filePath: arguments[0], directoryHint: .isDirectory)
    var attributes: [String: FieldValue]?
    let seconds = try timed {
      let journal = try CatalogJournal.open(at: url, mode: .readOnly)
      attributes = journal.state.item(EntityID(number))?.attributes
    }
    guard attributes?.isEmpty == false else { throw PeerFailure(description: "There is no item \(number).") }
    let probe = OpeningProbe(seconds: seconds, residentByteCount: try highestResidentByteCount(of: "self"))
    FileHandle.standardOutput.write(try JSONEncoder().encode(probe))
  }

}

/// The most memory that a process has had.
func highestResidentByteCount(of process: String) throws -> Int {
  let status = try String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)
  let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
  guard let kilobytes = line?.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap({ Int($0) })
  else { throw PeerFailure(description: "The system does not tell how much memory a process has had.") }
  return kilobytes << 10
}
