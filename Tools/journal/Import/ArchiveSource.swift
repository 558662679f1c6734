import Foundation
import LegacyStores

/// `journal import JOURNAL archive FILE…`
enum ArchiveSource: ImportSource {
  static let name = "archive"
  static let options = LegacyImport.options + ["--map", "--kind"]
  static let takesSeveral = true

  static func run(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    let files = arguments.operandValues("PATH").map { URL(fileURLWithPath: $0) }
    return try LegacyImport.run(arguments, terminal) { mapping in
      try LegacyStore.archives(files, mapping: mapping)
    }
  }
}
