import CatalogModel
import Foundation

/// What it takes to open a journal and read something, in a process that does nothing else.
struct OpeningProbe: Codable {
  /// What is read.
  enum Question: Codable {
    case item(Int)
    /// The first 20 samples in the order of their prices, from one on: by an index.
    case prices(from: Double)
  }

  /// From the call that opens until the answer is there.
  let seconds: Double
  /// The most memory that the process has had, that of its libraries included.
  let residentByteCount: Int

  /// Stands first on the command line of such a process.
  static let flag = "--opening-probe"

  /// Starts this program again as such a process, and gives what it reports.
  static func run(on journal: URL, _ question: Question) throws -> OpeningProbe {
    let child = Process()
    let output = Pipe()
    child.executableURL = Bundle.main.executableURL
    child.arguments = [
      flag, journal.path, String(decoding: try JSONEncoder().encode(question), as: UTF8.self),
    ]
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
    guard arguments.count == 2,
      let question = try? JSONDecoder().decode(Question.self, from: Data(arguments[1].utf8))
    else { throw WrongUse(message: "\(flag) is for the benchmark's own use.") }
    let url = URL(filePath: arguments[0], directoryHint: .isDirectory)
    var isAnswered = false
    let seconds = try timed {
      let state = try CatalogJournal.open(at: url, mode: .readOnly).state
      switch question {
      case .item(let number): isAnswered = state.item(EntityID(number))?.attributes.isEmpty == false
      case .prices(let price):
        let samples = state.items(Sample.self).filter(\.price >= price).sorted(by: \.price).prefix(20)
        isAnswered = try samples.values.count == 20
      }
    }
    guard isAnswered else { throw PeerFailure(description: "\(url.path) does not have what was asked for.") }
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
