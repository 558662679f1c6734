import Foundation

struct WrongUse: Error {
  let message: String
}

struct Arguments {
  var rows = Row.all
  var rounds: Int?
  var seed = UInt64.random(in: 1..<1_000_000)
  var folder: URL?
  var postgres: String?
  var isQuick = false
  var isLarge = false
  var wantsHelp = false

  private static let rowNames = Row.all.map(\.name).joined(separator: ", ")

  static let help = """
    usage: benchmark [--quick] [--large] [--only ROW,…] [--rounds N] [--in DIR] [--seed N] [--postgres ADDRESS]

    Measures the journal and its peers side by side: in turns, on the same file system, with the same bytes.
    Figures are medians over the rounds; each ratio is that of one round; the report shows its median and its range.
    A row that lacks something is left out, with a remark. After a failure or an interrupt, what was measured is printed.

      --quick      fewer rounds, smaller journals
      --large      also start-up with up to 10,000,000 entries: takes minutes and some GB of disk
      --only ROWS  only these rows, separated by commas; a prefix selects all rows that begin with it
      --rounds N   the number of rounds (7, with --quick 3)
      --in DIR     where to write (a new folder in it, removed at the end); default: next to this program
      --seed N     the seed of the random data; printed with the report
      --postgres ADDRESS
                   an empty database for the rows of shared journals

    rows: \(rowNames)
    """

  init(_ arguments: [String]) throws {
    var rest = arguments.makeIterator()
    while let argument = rest.next() {
      func value<Value>(_ expected: String, _ read: (String) -> Value?) throws -> Value {
        guard let value = rest.next().flatMap(read) else {
          throw WrongUse(message: "\(argument) takes \(expected); see --help.")
        }
        return value
      }
      switch argument {
      case "--quick": isQuick = true
      case "--large": isLarge = true
      case "--help", "-h": wantsHelp = true
      case "--only": rows = try Self.rows(named: try value("names of rows") { $0 })
      case "--rounds":
        rounds = try value("a number above 0") { Int($0).flatMap { $0 > 0 ? $0 : nil } }
      case "--seed": seed = try value("a whole number, 0 or more") { UInt64($0) }
      case "--postgres": postgres = try value("the address of a database") { $0 }
      case "--in":
        folder = try value("a folder") { path in
          let url = URL(filePath: path, directoryHint: .isDirectory)
          return (try? url.resourceValues(forKeys: [.isDirectoryKey]))?.isDirectory == true ? url : nil
        }
      default: throw WrongUse(message: "“\(argument)” is not an option; see --help.")
      }
    }
  }

  private static func rows(named list: String) throws -> [Row] {
    var names: Set<String> = []
    for name in list.split(separator: ",") {
      let exact = Row.all.filter { $0.name == name }
      let found = exact.isEmpty ? Row.all.filter { $0.name.hasPrefix(name) } : exact
      if found.isEmpty { throw WrongUse(message: "There is no row “\(name)”; the rows are \(rowNames).") }
      names.formUnion(found.map(\.name))
    }
    return Row.all.filter { names.contains($0.name) }
  }
}
