import Foundation
import KeyedArchiving
import TestSupport
import Testing

@Suite struct EmbeddedArchiveTests {
  private func list(_ text: String) throws -> PropertyList {
    try PropertyList(ArchiveBytes([UInt8](#"<plist version="1.0">\#(text)</plist>"#.utf8)))
  }

  /// An XML archive whose root is a string, or data.
  private func archiveText(_ entry: String) -> [UInt8] {
    [UInt8](
      """
      <?xml version="1.0"?><plist version="1.0"><dict>
      <key>$version</key><integer>100000</integer><key>$archiver</key><string>NSKeyedArchiver</string>
      <key>$top</key><dict><key>root</key>\(uid(1))</dict>
      <key>$objects</key><array><string>$null</string>\(entry)</array>
      </dict></plist>
      """.utf8)
  }

  @Test func allArchivesInsideTheFilesOfTheCorpusAreFound() throws {
    var total = 0
    for file in try KeyedCorpus.files() where file.expectation == "accept" {
      let found = try PropertyList(ArchiveBytes(contentsOf: file.url)).embeddedArchives()
      let archives = found.compactMap(\.archive)
      #expect(String(archives.count) == file.nestedArchives, "\(file.name)")
      for archive in archives { #expect(try archive.inspect().problems.isEmpty) }
      total += archives.count
    }
    #expect(total > (KeyedCorpus.hasAdditions ? 200 : 2))
  }

  @Test func peopleInUserDefaultsAreFoundUnderTheirKey() throws {
    let url = KeyedCorpus.url("synthetic/userdefaults_JSPerson_binary.plist")
    let found = try PropertyList(ArchiveBytes(contentsOf: url)).embeddedArchives()
    #expect(found.map(\.keyPath) == ["personsArray"])
    let people = try #require(try found.first?.archive?.root?.array)
    guard case .object(let person) = try people[0] else {
      Issue.record("no object")
      return
    }
    #expect(person.className == "JSPerson")
    #expect(try person["name"]?.string != nil)
  }

  @Test func thePathToEachArchiveIsReported() throws {
    let inner = archiveText(text("deep"))
    let middle = archiveText(data(inner))
    let found = try list(
      "<dict>" + key("people") + "<array>" + data(middle) + data([1, 2, 3]) + data(inner) + "</array>"
        + key("page") + data(Array("<html></html>".utf8)) + "</dict>"
    ).embeddedArchives()
    #expect(found.map(\.keyPath) == ["people[0]", "people[2]", "people[0] > root"])
    #expect(found.compactMap { try? $0.archive?.root?.string } == ["deep", "deep"])
  }

  @Test func plainAndBrokenListsWithinDataAreReported() throws {
    let plain = [UInt8](#"<?xml version="1.0"?><plist version="1.0"><array/></plist>"#.utf8)
    let found = try list("<array>" + data(plain) + data(Array("bplist00junk".utf8)) + "</array>")
      .embeddedArchives()
    guard found.count == 2, case .propertyList = found[0].content,
      case .unreadable(let error) = found[1].content
    else {
      Issue.record("\(found.map(\.content))")
      return
    }
    #expect(error.code == .malformed)
  }

  @Test func archivesInArchivesAreFollowedAsDeepAsTheLimit() throws {
    var bytes = archiveText(text("deep"))
    for _ in 0..<5 { bytes = archiveText(data(bytes)) }
    var limits = ArchiveLimits()
    #expect(try PropertyList(ArchiveBytes(bytes), limits: limits).embeddedArchives().count == 5)
    limits.nestedArchiveDepth = 3
    let found = try PropertyList(ArchiveBytes(bytes), limits: limits).embeddedArchives()
    #expect(found.count == 4)
    guard case .unreadable(let error)? = found.last?.content else {
      Issue.record("\(found.map(\.content))")
      return
    }
    #expect(error.code == .limitExceeded)
  }

  @Test func cyclesAmongObjectsEndTheSearch() throws {
    let inner = archiveText(text("x"))
    let archive = try makeArchive(
      object(3, ["other": uid(2), "blob": data(inner)]), object(3, ["other": uid(1), "gone": uid(77)]),
      classEntry("Node"))
    #expect(try archive.embeddedArchives().map(\.keyPath) == ["root.blob"])
  }
}
