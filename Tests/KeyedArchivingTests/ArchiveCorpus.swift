import Foundation

/// Property lists and archives that other programs have left, and some that were made to break readers.
///
/// They stand beside the package, as some of them are not ours to hand on.
struct ArchiveCorpus {
  struct File {
    let name: String
    /// `accept` when two independent parsers read the property list, `reject` when both refuse it, `disputed` when
    /// they differ, `-` for other files.
    let expectation: String
    /// What is known of the keyed archive in it.
    let semantics: String

    var url: URL { ArchiveCorpus.folder.appending(path: name) }
  }

  static let folder = URL(fileURLWithPath: #filePath)
    .appending(path: "../../../../shared/corpus/keyed").standardizedFileURL

  static let isThere = FileManager.default.fileExists(atPath: folder.path)
  static let absence =
    "there is no ../shared/corpus/keyed beside the package, so these tests have nothing to read"

  /// The files that the corpus's table names.
  static func files() throws -> [File] {
    let table = try String(contentsOf: folder.appending(path: "SOURCES.tsv"), encoding: .utf8)
    let rows = table.split(separator: "\n").map {
      $0.split(separator: "\t", omittingEmptySubsequences: false)
    }
    let header = rows[0]
    let expect = header.firstIndex(of: "expect")!
    let semantics = header.firstIndex(of: "keyed_semantics")!
    return rows.dropFirst().map {
      File(name: String($0[0]), expectation: String($0[expect]), semantics: String($0[semantics]))
    }
  }
}
