package import Foundation

/// LevelDB's tables of a journal's entries, oldest first. The very first table has only the journal's id.
package func entryTables(of journal: URL) throws -> [URL] {
  let entries = journal.appending(path: "entries")
  let names = try FileManager.default.contentsOfDirectory(atPath: entries.path)
  return names.filter { $0.hasSuffix(".ldb") }.sorted().dropFirst().map { entries.appending(path: $0) }
}
