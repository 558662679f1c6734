public import Foundation

/// Property lists and archives to read.
///
/// The files in `Tests/Corpus/keyed` come with the package. They were made for it, some of them to break readers. If
/// there is a folder `shared/corpus/keyed` next to the package, its files are added. Other programs wrote them, and not
/// all of them may be redistributed.
public enum KeyedCorpus {
  /// A file that a table of the corpus names.
  public struct File: Sendable {
    /// Its path in the corpus.
    public let name: String
    /// `accept` when two independent parsers read the property list, `reject` when both refuse it, `disputed` when
    /// they differ, `-` for other files.
    public let expectation: String
    /// What is known of the keyed archive in it.
    public let semantics: String
    /// How many keyed archives are nested in its data.
    public let nestedArchives: String
    /// Its location.
    public let url: URL
  }

  private static let tests = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent()
  private static let folder = tests.appending(path: "Corpus/keyed").standardizedFileURL
  private static let additions = tests.appending(path: "../../shared/corpus/keyed").standardizedFileURL

  /// Whether there are files in addition to those that come with the package.
  public static let hasAdditions = FileManager.default.fileExists(atPath: additions.path)
  /// Why a test of the additional files is skipped.
  public static let absence =
    "the optional corpus ../shared/corpus/keyed is not there; only the files of this package are tested"

  /// The location of a file that comes with the package or is added.
  public static func url(_ name: String) -> URL {
    let own = folder.appending(path: name)
    return FileManager.default.fileExists(atPath: own.path) ? own : additions.appending(path: name)
  }

  /// The files that the tables name.
  public static func files() throws -> [File] {
    var files: [File] = []
    var names: Set<String> = []
    for folder in hasAdditions ? [folder, additions] : [folder] {
      let table = try String(contentsOf: folder.appending(path: "SOURCES.tsv"), encoding: .utf8)
      let rows = table.split(separator: "\n").map {
        $0.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
      }
      func column(_ title: String) -> Int { rows[0].firstIndex(of: title)! }
      let (expect, semantics, nested) = (
        column("expect"), column("keyed_semantics"), column("nested_keyed_archives")
      )
      for row in rows.dropFirst() where names.insert(row[0]).inserted {
        files.append(
          File(
            name: row[0], expectation: row[expect], semantics: row[semantics], nestedArchives: row[nested],
            url: folder.appending(path: row[0])))
      }
    }
    return files
  }
}
