import CatalogModel
import Foundation

/// The time and memory that opening a journal and reading something takes, in a separate process.
struct OpeningProbe: Codable {
  /// What is read.
  enum Question: Codable {
    case item(Int)
    /// The first 20 samples from a price on, in the order of their prices, by an index.
    case prices(from: Double)
  }

  /// From the call that opens the journal to the answer.
  let seconds: Double
  /// The peak memory of the process, including its libraries.
  let residentByteCount: Int

  /// The first argument of such a process.
  static let flag = "--opening-probe"

  /// Starts this program again as such a process, and returns what it reports.
  static func run(on journal: URL, _ question: Question) throws -> OpeningProbe {
    guard let program = Bundle.main.executableURL else {
      throw PeerFailure(description: "The benchmark can't find its own program.")
    }
    let question = String(decoding: try JSONEncoder().encode(question), as: UTF8.self)
    let report = try output(of: program, [flag, journal.path, question])
    return try JSONDecoder().decode(OpeningProbe.self, from: report)
  }

  /// The main function of such a process.
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
    guard isAnswered else { throw PeerFailure(description: "\(url.path) lacks the requested items.") }
    let probe = OpeningProbe(seconds: seconds, residentByteCount: try highestResidentByteCount(of: "self"))
    FileHandle.standardOutput.write(try JSONEncoder().encode(probe))
  }
}

/// The peak resident memory of a process.
func highestResidentByteCount(of process: String) throws -> Int {
  let status = try String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)
  let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
  guard let kilobytes = line?.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap({ Int($0) })
  else { throw PeerFailure(description: "The system does not report the peak memory of a process.") }
  return kilobytes << 10
}
