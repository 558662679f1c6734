import Foundation
import Testing

@Suite struct DocumentationTests {
  @Test func theDocumentedDomainIsTheTestedOne() throws {
    let folder = URL(filePath: #filePath).deletingLastPathComponent()
    let ledger = try String(contentsOf: folder.appending(path: "Ledger.swift"), encoding: .utf8)
    let page = folder.appending(path: "../../Documentation/YourOwnDomain.md")
    #expect(try String(contentsOf: page, encoding: .utf8).contains("```swift\n\(ledger)```\n"))
  }
}
