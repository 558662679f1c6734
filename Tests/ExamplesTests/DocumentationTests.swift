import Foundation
import Testing

/// What the page about the small apps says, held against their code.
@Suite struct DocumentationTests {
  private let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..")
    .standardizedFileURL

  private func text(_ path: String) throws -> String {
    try String(contentsOf: root.appending(path: path), encoding: .utf8)
  }

  @Test func theDocumentedAppIsTheTestedOne() throws {
    let app = try text("Sources/Examples/PersonList.swift")
    #expect(try text("Documentation/Examples.md").contains("```swift\n\(app)```\n"))
  }

  @Test func eachBlockAboutTheBackendIsFromTheTestedApp() throws {
    let app = try text("Sources/Examples/RecipeBook.swift") + text("Sources/Examples/RecipeScreen.swift")
    let blocks = try text("Documentation/AppBackend.md").matches(
      of: /```swift\n(.+?)```/.dotMatchesNewlines())
    #expect(blocks.count >= 7)
    for block in blocks { #expect(app.contains(block.1), "\(block.1)") }
  }

  @Test func thePageNamesEachAppAndNoOther() throws {
    let named = try text("Documentation/Examples.md").matches(of: /`Sources\/Examples\/([A-Za-z]+\.swift)`/)
    let files = try FileManager.default.contentsOfDirectory(
      atPath: root.appending(path: "Sources/Examples").path)
    #expect(named.map { String($0.1) }.sorted() == files.sorted())
  }
}
