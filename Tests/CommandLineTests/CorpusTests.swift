import CatalogModel
import Foundation
import JSON
import TestSupport
import Testing

@testable import journal

private let corpusPath = URL(fileURLWithPath: #filePath)
  .appending(path: "../../../../shared/corpus/countries-history.fast-export.xz").standardizedFileURL.path

/// How many commits of the real history are imported. Without optimization, all 400 MB of JSON would take minutes.
#if DEBUG
  private let realCommitCount = 70
#else
  private let realCommitCount = 273
#endif

/// Histories of a list of countries, compared with git at sampled commits: one that is made here, and a real one if it
/// is next to the package.
@Suite struct CorpusTests {
  private static let isRealHistoryThere = FileManager.default.fileExists(atPath: corpusPath)
  private static let absence: Comment =
    "the optional corpus ../shared/corpus is not there; only the generated history is tested"

  private func makeRealRepository(_ path: String) throws -> GitOracle {
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    try git(path, "init", "-q", "-b", "master")
    let stream = try run("xz", ["-dc", corpusPath])
    try git(path, "fast-import", "--quiet", input: stream.output)
    return GitOracle(path: path)
  }

  @Test func sampledCommitsOfTheFilesFormEqualGit() throws {
    try withTemporaryFolder { folder in
      try expectFilesForm(makeCountriesHistory(folder.path("countries")), count: countriesCommitCount, folder)
    }
  }

  @Test func everyObjectOfTheRecordsFormEqualsItsJSON() throws {
    try withTemporaryFolder { folder in
      try expectRecordsForm(
        makeCountriesHistory(folder.path("countries")), count: countriesCommitCount, folder)
    }
  }

  @Test(.enabled(if: isRealHistoryThere, absence)) func sampledCommitsOfARealHistoryEqualGit() throws {
    try withTemporaryFolder { folder in
      try expectFilesForm(makeRealRepository(folder.path("countries")), count: realCommitCount, folder)
    }
  }

  @Test(.enabled(if: isRealHistoryThere, absence)) func everyObjectOfARealHistoryEqualsItsJSON() throws {
    try withTemporaryFolder { folder in
      try expectRecordsForm(makeRealRepository(folder.path("countries")), count: realCommitCount, folder)
    }
  }

  private func expectFilesForm(_ oracle: GitOracle, count: Int, _ folder: TemporaryFolder) throws {
    let commits = try oracle.commits()
    let branch = commits[count - 1]
    try check("import", folder.path("J.journal"), "git", oracle.path, "--branch", branch)
    let opened = try CatalogJournal.open(at: URL(fileURLWithPath: folder.path("J.journal")))
    #expect(opened.head.revision == count)
    for index in [0, count / 2, count - 1] {
      let catalog = try opened.state(asOf: .revision(index + 1))
      try expectFiles(catalog, opened.blobs, equal: commits[index], oracle)
    }
    try expectHistories(opened, at: branch, oracle)
  }

  private func expectRecordsForm(_ oracle: GitOracle, count: Int, _ folder: TemporaryFolder) throws {
    let branch = try oracle.commits()[count - 1]
    let outcome = try journal(
      "import", folder.path("J.journal"), "git", oracle.path, "--branch", branch, "--records",
      "countries.json", "--key", "cca3", "--category", "region", "--images", "data/{key.lowercased}.svg")
    #expect(outcome.code == 0)
    try expectAnswers(folder.path("J.journal"), branch, oracle)
    let opened = try CatalogJournal.open(at: URL(fileURLWithPath: folder.path("J.journal")))
    let newest = opened.head.revision
    #expect(newest > count / 2)
    let cursor = opened.entries()
    while let entry = try cursor.next() {
      guard [1, newest / 2, newest].contains(entry.revision) else { continue }
      let commit = try #require(entry.metadata["git.commit"])
      try expectCountries(opened.state(asOf: .revision(entry.revision)), at: commit, oracle)
    }
  }

  /// Compares `history`, `blame`, `diff` and `find --deleted` with git's log and with a computation in Python over the
  /// JSON of every commit.
  private func expectAnswers(_ path: String, _ branch: String, _ oracle: GitOracle) throws {
    struct Answer: Decodable {
      var compared: [String: Int]
      var problems: [String]
    }
    let script = URL(filePath: #filePath).deletingLastPathComponent().appending(
      path: "Reader/audit_oracle.py")
    var random = SeededGenerator()
    let result = try run(
      "python3",
      ["-B", script.path, journalPath, path, oracle.path, branch, "countries.json", "cca3"]
        + ["\(random.next() >> 32)"])
    #expect(result.code == 0, "\(String(decoding: result.error, as: UTF8.self))")
    let answer = try JSONDecoder().decode(Answer.self, from: result.output)
    #expect(answer.problems == [])
    for name in ["history", "blame", "diff"] { #expect(answer.compared[name, default: 0] > 20, "\(name)") }
    print("countries: compared \(answer.compared)")
  }

  /// Checks that the history of a file's item names the commits in git's log of its path, back to the one that added
  /// it.
  private func expectHistories(_ opened: CatalogJournal, at commit: String, _ oracle: GitOracle) throws {
    var random = SeededGenerator()
    var compared = 0
    for item in Array(opened.state.items).shuffled(using: &random) where compared < 8 {
      guard case .string(let path) = item["path"], path.allSatisfy({ $0.isASCII && $0 != "%" }) else {
        continue
      }
      let lines = String(
        decoding: try git(
          oracle.path, "--literal-pathspecs", "log", "--first-parent", "--no-renames", "--name-status",
          "--format=%H", commit, "--", path), as: UTF8.self
      ).split(separator: "\n")
      var expected: [String] = []
      for line in lines {
        if line.hasPrefix("A\t") { break }
        if line.count == 40 { expected.append(String(line)) }
      }
      let found = try opened.history(of: .item(item.id)).map { change in
        try opened.entry(at: change.revision).metadata["git.commit"]
      }
      #expect(found == expected, "\(path)")
      compared += 1
    }
    #expect(compared > 3)
  }

  private func expectCountries(_ catalog: Catalog, at commit: String, _ oracle: GitOracle) throws {
    let tree = try oracle.tree(of: commit)
    let file = try #require(tree[ExactText("countries.json")])
    // At some commits that changed only images, the file was not JSON. Those entries are not compared.
    guard case .array(let elements)? = try? FieldValue(json: oracle.content(file.hash)) else { return }
    var expected: [String: FieldValue] = [:]
    for element in elements {
      guard case .dictionary(let fields) = element, case .string(let key)? = fields["cca3"] else { continue }
      expected[key] = element
    }
    #expect(catalog.itemCount == expected.count)
    for item in catalog.items {
      guard case .string(let key) = item["cca3"] else {
        Issue.record("item:\(item.id) has no key")
        continue
      }
      #expect(FieldValue.dictionary(item.attributes) == expected[key])
      let hash = tree[ExactText("data/\(key.lowercased()).svg")]?.hash
      let image = catalog.images(of: item.id).first { _ in true }
      #expect((image == nil) == (hash == nil))
    }
  }
}
