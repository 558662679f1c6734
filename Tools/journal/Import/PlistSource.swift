import Foundation
import LegacyStores

/// `journal import JOURNAL plist FILE…`
enum PlistSource: ImportSource {
  static let name = "plist"
  static let options = LegacyImport.options + ["--map", "--kind"]
  static let takesSeveral = true

  static func run(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    let files = arguments.operandValues("PATH").map { URL(fileURLWithPath: $0) }
    return try LegacyImport.run(arguments, terminal) { mapping in
      try LegacyStore.propertyLists(files, mapping: mapping)
    }
  }
}
