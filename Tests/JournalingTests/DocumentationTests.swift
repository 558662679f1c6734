import Foundation
import Testing

/// What the pages say of files and tests, held against the tree.
@Suite struct DocumentationTests {
  private let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..")
    .standardizedFileURL

  private func text(_ path: String) throws -> String {
    try String(contentsOf: root.appending(path: path), encoding: .utf8)
  }

  private static let pages = [
    "README.md", "CONTRIBUTING.md", "Documentation/Architecture.md", "Documentation/Format.md",
    "Documentation/YourOwnDomain.md", "Documentation/ComingFromNSCoding.md", "Documentation/KeyedArchives.md",
    "Documentation/AuditAndRestore.md",
  ]

  @Test(arguments: pages) func filesThatAPageNamesAreThere(_ page: String) throws {
    let names = try text(page).matches(
      of: /[`(]((?:Journal|Sources|Tools|Tests|Documentation)\/[A-Za-z\/+]+(?:\.[a-z]+)?)[`)]/)
    for name in names {
      #expect(FileManager.default.fileExists(atPath: root.appending(path: String(name.1)).path), "\(name.1)")
    }
    #expect(!names.isEmpty)
  }

  @Test func testsThatShowAPromiseAreThere() throws {
    var sources = ""
    for path in try FileManager.default.subpathsOfDirectory(atPath: root.appending(path: "Tests").path)
    where path.hasSuffix(".swift") {
      sources += try text("Tests/\(path)")
    }
    let names = try text("Documentation/Architecture.md").matches(of: /`([a-zA-Z]+)\(\)`[,| ]/)
    for name in names { #expect(sources.contains("func \(name.1)("), "\(name.1)") }
    #expect(names.count > 30)
  }

  /// Another log needs nothing above it to change only as long as nothing above it knows LevelDB.
  @Test func onlyTheLogInLevelDBKnowsLevelDB() throws {
    var readers: Set<String> = []
    for folder in ["Journal", "Sources", "Tools"] {
      let names = try FileManager.default.subpathsOfDirectory(atPath: root.appending(path: folder).path)
      for name in names where name.hasSuffix(".swift") {
        let text = try text("\(folder)/\(name)")
        // The storage that journals have unless they are told otherwise is named in that folder, too.
        let uses = text.matches(of: /(?m)^(?:[a-z@]+ )*import C?LevelDB\b|\bLevelDB(?:Storage|Log|Reader)\b/)
        if !uses.isEmpty { readers.insert(String("\(folder)/\(name)".prefix { $0 != "." })) }
      }
    }
    for path in readers {
      #expect(path.hasPrefix("Journal/Log/LevelDB/") || path.hasPrefix("Sources/LevelDB/"))
    }
    #expect(readers.contains("Journal/Log/LevelDB/LevelDBRemains"))
  }

  @Test func theDocumentedDomainIsTheTestedOne() throws {
    let ledger = try text("Tests/JournalingTests/Ledger.swift")
    #expect(try text("Documentation/YourOwnDomain.md").contains("```swift\n\(ledger)```\n"))
  }
}
