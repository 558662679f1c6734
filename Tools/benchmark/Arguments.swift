import Foundation

/// The names of rows on the command line and in the report.
enum RowName: String, CaseIterable, Codable {
  case commit1 = "commit-1"
  case commitPipeline = "commit-pipeline"
  case commit8 = "commit-8"
  case commit64 = "commit-64"
  case commit64Async = "commit-64-async"
  case commitReopened = "commit-reopened"
  case commitUpdate = "commit-update"
  case bulk
  case bulkLong = "bulk-long"
  case replay
  case replayUpdates = "replay-updates"
  case asOf = "as-of"
  case asOfDrop = "as-of-drop"
  case history
  case historyPart = "history-part"
  case snapshotWrite = "snapshot-write"
  case snapshotRead = "snapshot-read"
  case snapshotValues = "snapshot-values"
  case opening
  case openingMemory = "opening-memory"
  case openingKilled = "opening-killed"
  case openingKilledMemory = "opening-killed-memory"
  case openingBacklog = "opening-backlog"
  case layerBytes = "layer-bytes"
  case layerWrite = "layer-write"
  case startUp = "start-up"
  case commitTail = "commit-tail"
  case save10 = "save-10"
  case save1000 = "save-1000"
  case save100000 = "save-100000"
  case queryEqual = "query-equal"
  case queryFirst = "query-first"
  case queryScan = "query-scan"
  case queryOpening = "query-opening"
  case images
  case imagesImport = "images-import"
  case follow
  case verbs
  case view
  case backup
  case shared1 = "shared-1"
  case shared1Async = "shared-1-async"
  case shared3 = "shared-3"
  case shared3Async = "shared-3-async"
  case sharedJoin = "shared-join"
  case sharedFollow = "shared-follow"
}

/// An invalid command line; the message is one sentence.
struct WrongUse: Error {
  let message: String
}

/// The options of the command line.
struct Arguments {
  var rows = Set(RowName.allCases)
  var rounds: Int?
  var seed = UInt64.random(in: 1..<1_000_000)
  var folder: URL?
  /// A PostgreSQL database for the rows of shared journals, which are left out without one.
  var postgres: String?
  var isQuick = false
  var isLarge = false
  var isStrict = false
  var wantsJSON = false
  var wantsHelp = false

  static let help = """
    usage: benchmark [--quick] [--large] [--only ROW,…] [--rounds N] [--in DIR] [--seed N] [--postgres ADDRESS] [--json] [--strict]

    Measures the journal and its peers side by side: in turns, on the same file system, with the same bytes.
    Figures are medians over the rounds; each ratio is that of one round; the report shows its median and its range.

      --quick      fewer rounds, smaller journals
      --large      also start-up with up to 10,000,000 entries: takes minutes and some GB of disk
      --only ROWS  only these rows, separated by commas; a prefix selects all rows that begin with it
      --rounds N   the number of rounds (7, with --quick 3)
      --in DIR     where to write (a new folder in it, removed at the end); default: next to this program
      --seed N     the seed of the random data; printed with the report
      --postgres ADDRESS
                   an empty database for the rows of shared journals; they are left out without one
      --json       one JSON object instead of the table
      --strict     exit with 1 if a goal is missed; without it a missed goal is only reported

    rows: \(RowName.allCases.map(\.rawValue).joined(separator: ", "))
    """

  /// - Throws: ``WrongUse``
  init(_ arguments: some Sequence<String>) throws {
    var rest = arguments.makeIterator()
    func value(of option: String) throws -> String {
      guard let value = rest.next() else { throw WrongUse(message: "\(option) needs a value; see --help.") }
      return value
    }
    while let argument = rest.next() {
      switch argument {
      case "--quick": isQuick = true
      case "--large": isLarge = true
      case "--strict": isStrict = true
      case "--json": wantsJSON = true
      case "--help", "-h": wantsHelp = true
      case "--only": rows = try Self.rows(named: try value(of: argument))
      case "--rounds":
        guard let number = Int(try value(of: argument)), (1...1000).contains(number) else {
          throw WrongUse(message: "--rounds takes a number from 1 to 1000.")
        }
        rounds = number
      case "--seed":
        guard let number = UInt64(try value(of: argument)) else {
          throw WrongUse(message: "--seed takes a whole number, 0 or more.")
        }
        seed = number
      case "--postgres": postgres = try value(of: argument)
      case "--in": folder = URL(filePath: try value(of: argument), directoryHint: .isDirectory)
      default: throw WrongUse(message: "“\(argument)” is not an option; see --help.")
      }
    }
  }

  private static func rows(named list: String) throws -> Set<RowName> {
    var rows: Set<RowName> = []
    for name in list.split(separator: ",") {
      let exact = RowName(rawValue: String(name)).map { [$0] }
      let found = exact ?? RowName.allCases.filter { $0.rawValue.hasPrefix(name) }
      guard !found.isEmpty else {
        let all = RowName.allCases.map(\.rawValue).joined(separator: ", ")
        throw WrongUse(message: "There is no row “\(name)”; the rows are \(all).")
      }
      rows.formUnion(found)
    }
    guard !rows.isEmpty else { throw WrongUse(message: "--only names no row; see --help.") }
    return rows
  }
}
