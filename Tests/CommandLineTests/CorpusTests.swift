import CatalogModel
import Foundation
import JSON
import TestSupport
import Testing

@testable import journal

private let corpusPath = URL(fileURLWithPath: #filePath)
  .appending(path: "../../../../shared/corpus/countries-history.fast-export.xz").standardizedFileURL.path

/// How many commits are imported: without optimization, 400 MB of JSON would take minutes.
#if DEBUG
  private let commitCount = 70
#else
  private let commitCount = 273
#endif

/// The history of a real list of countries, held against git at sampled commits.
@Suite(
  .enabled(
    if: FileManager.default.fileExists(atPath: corpusPath),
    "there is no ../shared/corpus beside the package, so these tests have nothing to read"))
struct CorpusTests {
  private func makeRepository(_ path: String) throws -> GitOracle {
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    try git(path, "init", "-q", "-b", "master")
    let stream = try run("xz", ["-dc", corpusPath])
    try git(path, "fast-import", "--quiet", input: stream.output)
    return GitOracle(path: path)
  }

  @Test func sampledCommitsOfTheFilesFormEqualGit() throws {
    try withTemporaryFolder { folder in
      let oracle = try makeRepository(folder.path("countries"))
      let commits = try oracle.commits()
      let branch = commits[commitCount - 1]
      let outcome = try journal("import", folder.path("J.journal"), "git", oracle.path, "--branch", branch)
      #expect(outcome.code == 0)
      let opened = try CatalogJournal.open(at: URL(fileURLWithPath: folder.path("J.journal")))
      #expect(opened.head.revision == commitCount)
      for index in [0, commitCount / 2, commitCount - 1] {
        let catalog = try opened.state(asOf: .revision(index + 1))
        try expectFiles(catalog, opened.blobs, equal: commits[index], oracle)
      }
    }
  }

  @Test func everyObjectOfTheRecordsFormEqualsItsJSON() throws {
    try withTemporaryFolder { folder in
      let oracle = try makeRepository(folder.path("countries"))
      let branch = try oracle.commits()[commitCount - 1]
      let outcome = try journal(
        "import", folder.path("J.journal"), "git", oracle.path, "--branch", branch, "--records",
        "countries.json", "--key", "cca3", "--category", "region", "--images", "data/{key.lowercased}.svg")
      #expect(outcome.code == 0)
      let opened = try CatalogJournal.open(at: URL(fileURLWithPath: folder.path("J.journal")))
      let newest = opened.head.revision
      let cursor = opened.entries()
      while let entry = try cursor.next() {
        guard [1, newest / 2, newest].contains(entry.revision) else { continue }
        let commit = try #require(entry.metadata["git.commit"])
        try expectCountries(opened.state(asOf: .revision(entry.revision)), at: commit, oracle)
      }
    }
  }

  private func expectCountries(_ catalog: Catalog, at commit: String, _ oracle: GitOracle) throws {
    let tree = try oracle.tree(of: commit)
    let file = try #require(tree[ExactText("countries.json")])
    // The file was no JSON at some commits that changed only images; those entries are not compared.
    guard case .array(let elements)? = try? Value(json: oracle.content(file.hash)) else { return }
    var expected: [String: Value] = [:]
    for element in elements {
      guard case .dictionary(let fields) = element, case .string(let key)? = fields["cca3"] else { continue }
      if expected[key] == nil { expected[key] = element }
    }
    #expect(catalog.itemCount == expected.count)
    for item in catalog.items {
      guard case .string(let key) = item["cca3"] else {
        Issue.record("item:\(item.id) has no key")
        continue
      }
      #expect(Value.dictionary(item.attributes) == expected[key])
      let hash = tree[ExactText("data/\(key.lowercased()).svg")]?.hash
      let image = catalog.images(of: item.id).first { _ in true }
      #expect((image == nil) == (hash == nil))
    }
  }
}
