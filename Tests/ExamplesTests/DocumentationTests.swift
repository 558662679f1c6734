import Foundation
import Testing

/// Checks the page about the small apps.
@Suite struct DocumentationTests {
  private let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..")
    .standardizedFileURL

  private func text(_ path: String) throws -> String {
    try String(contentsOf: root.appending(path: path), encoding: .utf8)
  }

  @Test func thePageAboutExamplesNamesEachAppAndNoOther() throws {
    let named = try text("Documentation/Examples.md").matches(of: /`Sources\/Examples\/([A-Za-z]+\.swift)`/)
    let files = try FileManager.default.contentsOfDirectory(
      atPath: root.appending(path: "Sources/Examples").path)
    #expect(named.map { String($0.1) }.sorted() == files.sorted())
  }
}
