import Foundation
import TestSupport
import Testing

/// Checks what the pages say about files, tests and each other.
@Suite struct DocumentationTests {
  private var root: URL { Self.root }

  private func text(_ path: String) throws -> String {
    try String(contentsOf: root.appending(path: path), encoding: .utf8)
  }

  private static let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..")
    .standardizedFileURL

  private static let pages =
    ((try? FileManager.default.contentsOfDirectory(atPath: root.appending(path: "Documentation").path)) ?? [])
    .filter { $0.hasSuffix(".md") }.map { "Documentation/\($0)" }.sorted()

  private static let allPages = pages + ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"]

  @Test(arguments: allPages) func filesThatAPageNamesExist(_ page: String) throws {
    let names = try text(page).matches(
      of: /[`(]((?:Journal|Sources|Tools|Tests|Documentation)\/[A-Za-z\/+]+(?:\.[a-z]+)?)[`)]/)
    for name in names {
      #expect(FileManager.default.fileExists(atPath: root.appending(path: String(name.1)).path), "\(name.1)")
    }
  }

  @Test(arguments: allPages) func linksOfAPageLeadToAnExistingPageAndHeading(_ page: String) throws {
    let folder = root.appending(path: page).deletingLastPathComponent()
    for link in try text(page).matches(of: /\]\(([^)#:\s]*)(?:#([^)\s]+))?\)/) {
      let target = link.1.isEmpty ? root.appending(path: page) : folder.appending(path: String(link.1))
      guard FileManager.default.fileExists(atPath: target.path) else {
        Issue.record("\(page) links to \(link.1)")
        continue
      }
      guard let anchor = link.2 else { continue }
      let headings = try String(contentsOf: target, encoding: .utf8).matches(of: /(?m)^#+ (.*)$/).map {
        $0.1.lowercased().replacing(" ", with: "-").filter { $0.isLetter || $0.isNumber || $0 == "-" }
      }
      #expect(headings.contains(String(anchor)), "\(page) links to \(link.1)#\(anchor)")
    }
  }

  @Test func theIndexListsEachPageAndEachPageSaysWhoItIsFor() throws {
    let index = try text("Documentation/README.md")
    for page in Self.pages where page != "Documentation/README.md" {
      #expect(index.contains("(\(page.dropFirst("Documentation/".count)))"), "\(page)")
      let lines = try text(page).split(separator: "\n", omittingEmptySubsequences: false)
      #expect(lines[0].hasPrefix("# ") && lines[2].hasPrefix("For "), "\(page)")
    }
  }

  /// A block counts as compiled if its lines are in a file of the tests or the examples. Imports and indentation may
  /// differ.
  @Test func eachBlockOfSwiftIsCompiled() throws {
    var sources: [String] = []
    for folder in ["Tests", "Sources/Examples"] {
      for path in try FileManager.default.subpathsOfDirectory(atPath: root.appending(path: folder).path)
      where path.hasSuffix(".swift") {
        sources.append(try text("\(folder)/\(path)").codeLines)
      }
    }
    let catalogs = ["Sources/CatalogModel/Documentation.docc/CatalogModel.md"]
    var count = 0
    for page in Self.allPages + catalogs {
      for block in try text(page).matches(of: /(?m)^```swift\n(.+?)^```/.dotMatchesNewlines()) {
        // The manifest has its own test, below.
        if block.1.hasPrefix("// swift-tools-version") { continue }
        let lines = String(block.1).codeLines
        #expect(sources.contains { $0.contains(lines) }, "\(page): \(block.1)")
        count += 1
      }
    }
    #expect(count >= 15)
  }

  @Test func theManifestOfTheFirstProgramIsValid() throws {
    let blocks = try text("Documentation/GettingStarted.md").matches(
      of: /(?m)^```swift\n(\/\/ swift-tools-version.+?)^```/.dotMatchesNewlines())
    let manifest = try #require(blocks.first)
    try withTemporaryFolder { folder in
      try Data(manifest.1.utf8).write(to: folder.url.appending(path: "Package.swift"))
      let dump = try Self.run("swift", ["package", "--package-path", folder.path, "dump-package"])
      #expect(dump.contains("\"CatalogModel\""))
    }
    #expect(try text("Package.swift").contains(".library(name: \"CatalogModel\""))
  }

  private static func run(_ program: String, _ arguments: [String]) throws -> String {
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = [program] + arguments
    let output = Pipe()
    process.standardOutput = output
    try process.run()
    let data = try output.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    #expect(process.terminationStatus == 0, "\(program)")
    return String(decoding: data, as: UTF8.self)
  }

  @Test func testsThatThePageAboutReliabilityNamesExist() throws {
    var sources = ""
    for path in try FileManager.default.subpathsOfDirectory(atPath: root.appending(path: "Tests").path)
    where path.hasSuffix(".swift") {
      sources += try text("Tests/\(path)")
    }
    let rows = try text("Documentation/Reliability.md").split(separator: "\n").filter { $0.hasPrefix("| ") }
    let names = rows.flatMap { $0.matches(of: /`([a-zA-Z]+)\([a-zA-Z_:]*\)`[,| ]/) }
    for name in names {
      let isThere = sources.contains("func \(name.1)(")
      #expect(isThere, "\(name.1)")
    }
    #expect(names.count > 15)
  }

  /// Another log can replace LevelDB without changes above it only if nothing above it names LevelDB.
  @Test func onlyTheLevelDBLogNamesLevelDB() throws {
    var readers: Set<String> = []
    for folder in ["Journal", "Sources", "Tools"] {
      let names = try FileManager.default.subpathsOfDirectory(atPath: root.appending(path: folder).path)
      for name in names where name.hasSuffix(".swift") {
        let text = try text("\(folder)/\(name)")
        // The default storage of journals is chosen in that folder, too.
        let uses = text.matches(of: /(?m)^(?:[a-z@]+ )*import C?LevelDB\b|\bLevelDB(?:Storage|Log|Reader)\b/)
        if !uses.isEmpty { readers.insert(String("\(folder)/\(name)".prefix { $0 != "." })) }
      }
    }
    for path in readers {
      let isOfLog = ["Journal/Log/LevelDB/", "Sources/LevelDB/", "Sources/LevelDBSalvage/"].contains {
        path.hasPrefix($0)
      }
      #expect(isOfLog || path == "Sources/JournalMaintenance/LevelDBRemains")
    }
    #expect(readers.contains("Sources/JournalMaintenance/LevelDBRemains"))
  }
}

extension String {
  /// The lines without indentation, imports and empty ones.
  fileprivate var codeLines: String {
    split(separator: "\n").map { $0.drop { $0 == " " } }
      .filter { !$0.isEmpty && !$0.hasPrefix("import ") }.joined(separator: "\n") + "\n"
  }
}
