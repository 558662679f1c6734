import Foundation
import LegacyStores

/// `journal import JOURNAL scarybugs FOLDER`
enum ScaryBugsSource: ImportSource {
  static let name = "scarybugs"
  static let options = LegacyImport.options
  static let takesSeveral = false

  static func run(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    let folder = URL(fileURLWithPath: arguments.operand("PATH"))
    return try LegacyImport.run(arguments, terminal) { _ in try LegacyStore.scaryBugs(in: folder) }
  }
}
