import CatalogModel
import Foundation
import Testing

@testable import journal

/// What git says about a repository, to be compared with a journal.
struct GitOracle {
  let path: String

  /// The commits of the first-parent line, oldest first.
  func commits(of branch: String = "HEAD") throws -> [String] {
    try git(path, "rev-list", "--first-parent", "--reverse", branch).parts(endingWith: 10)
      .map { String(decoding: $0, as: UTF8.self) }
  }

  struct File: Equatable {
    var mode: String
    var hash: String
  }

  /// The tree of a commit, by names as the journal writes them.
  func tree(of commit: String) throws -> [ExactText: File] {
    var files: [ExactText: File] = [:]
    for line in try git(path, "ls-tree", "-r", "-z", commit).parts(endingWith: 0) {
      let tab = line.firstIndex(of: 9)!
      let words = String(decoding: line[..<tab], as: UTF8.self).split(separator: " ").map(String.init)
      files[ExactText(GitPath.text(line[(tab + 1)...]))] = File(mode: words[0], hash: words[2])
    }
    return files
  }

  func content(_ hash: String) throws -> Data { try git(path, "cat-file", "blob", hash) }

  /// The contents of many files, from one run of git.
  func contents(_ hashes: [String]) throws -> [String: Data] {
    var output = try git(path, "cat-file", "--batch", input: Data(hashes.joined(separator: "\n") + "\n"))[...]
    var contents: [String: Data] = [:]
    for hash in hashes {
      let header = String(decoding: output.prefix { $0 != 10 }, as: UTF8.self)
      let count = Int(header.split(separator: " ")[2])!
      output = output.dropFirst(header.utf8.count + 1)
      contents[hash] = Data(output.prefix(count))
      output = output.dropFirst(count + 1)
    }
    return contents
  }

  /// Hash, author, the seconds of both dates and message of each commit of the first-parent line, oldest first.
  func headers() throws -> [[String]] {
    let format = "--format=format:%H%x00%an%x00%ct%x00%at%x00%B%x01"
    let output = try git(path, "log", "--first-parent", "--reverse", "--encoding=UTF-8", format)
    return output.parts(endingWith: 1).map { part in
      part.split(separator: 0, omittingEmptySubsequences: false)
        .map { String(decoding: $0, as: UTF8.self).trimmingCharacters(in: .newlines) }
    }
  }
}

/// The revision of the journal after each commit, oldest first. Also checks authors, notes and dates.
func revisions(of journal: CatalogJournal, _ oracle: GitOracle) throws -> [(commit: String, revision: Int)] {
  var entries: [String: Entry] = [:]
  let cursor = journal.entries()
  while let entry = try cursor.next() { entries[entry.metadata["git.commit"] ?? ""] = entry }
  #expect(entries.count == journal.head.revision)
  var revision = 0
  var line: [(commit: String, revision: Int)] = []
  for header in try oracle.headers() {
    if let entry = entries[header[0]] {
      revision = entry.revision
      func seconds(_ key: String) -> String? {
        entry.metadata[key].flatMap { Timestamp($0) }.map { "\($0.microseconds / 1_000_000)" }
      }
      let date = seconds("git.date") ?? "\(Int(entry.date.timeIntervalSince1970))"
      #expect([entry.author, date, seconds("git.authored") ?? "", entry.note] == Array(header[1...]))
    }
    line.append((header[0], revision))
  }
  return line
}

/// Compares the files form of a state with the tree of a commit.
func expectFiles(_ catalog: Catalog, _ store: BlobStore, equal commit: String, _ oracle: GitOracle) throws {
  let tree = try oracle.tree(of: commit)
  let contents = try oracle.contents(tree.values.filter { $0.mode != "160000" }.map(\.hash))
  #expect(catalog.itemCount == tree.count)
  var folders: Set<String> = []
  var found: [ExactText: GitOracle.File] = [:]
  for item in catalog.items {
    guard case .string(let path) = item["path"], case .string(let mode) = item["mode"],
      case .string(let hash) = item["blob"]
    else {
      Issue.record("item:\(item.id) lacks an attribute")
      continue
    }
    found[ExactText(path)] = GitOracle.File(mode: mode, hash: hash)
    let folder = path.split(separator: "/", omittingEmptySubsequences: false).dropLast().joined(
      separator: "/")
    #expect((item.category.flatMap { catalog.category($0)?.name } ?? "") == folder)
    if !folder.isEmpty { folders.insert(folder) }
    let images = Array(catalog.images(of: item.id))
    if mode == "160000" {
      #expect(item["text"] == nil && images.isEmpty)
      continue
    }
    let bytes = try #require(contents[hash])
    if bytes.count <= 65_536, let text = String(data: bytes, encoding: .utf8) {
      guard case .string(let kept) = item["text"] else {
        Issue.record("\(path) lacks its text at \(commit)")
        continue
      }
      #expect(kept.utf8.elementsEqual(text.utf8) && images.isEmpty)
    } else {
      #expect(item["text"] == nil)
      #expect(images.count == 1)
      let stored = try images.first.map { try store.data(of: $0.blob) }
      #expect(stored == bytes)
      #expect(images.first?.name == path.split(separator: "/").last.map(String.init))
    }
  }
  #expect(found == tree)
  #expect(Set(catalog.categories.map(\.name)) == folders)
  #expect(catalog.categoryCount == folders.count)
  #expect(catalog.problems() == [])
}
