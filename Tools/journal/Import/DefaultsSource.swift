import Foundation
import LegacyStores

/// `journal import JOURNAL defaults FILE`
enum DefaultsSource: ImportSource {
  static let name = "defaults"
  static let options = LegacyImport.options + ["--key", "--map", "--kind"]
  static let takesSeveral = false

  static func run(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    let file = URL(fileURLWithPath: arguments.operand("PATH"))
    return try LegacyImport.run(arguments, terminal) { mapping in
      try LegacyStore.defaults(file, key: arguments.value("--key"), mapping: mapping)
    }
  }
}
