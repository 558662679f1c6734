import Foundation
import KeyedArchiving
import TestSupport
import Testing

@Suite struct CorpusPropertyListTests {
  @Test func filesThatTwoOtherParsersReadAreRead() throws {
    let files = try KeyedCorpus.files().filter { $0.expectation == "accept" }
    #expect(files.count > (KeyedCorpus.hasAdditions ? 200 : 30))
    for file in files {
      #expect(throws: Never.self, "\(file.name)") { _ = try tree(file) }
    }
  }

  @Test func filesThatTwoOtherParsersRefuseAreRefused() throws {
    let files = try KeyedCorpus.files().filter { $0.expectation == "reject" }
    #expect(files.count > (KeyedCorpus.hasAdditions ? 40 : 15))
    for file in files {
      #expect(throws: ArchiveError.self, "\(file.name)") { _ = try tree(file) }
    }
  }

  /// Documentation/KeyedArchives.md names the rules.
  @Test func whatOtherParsersDisputeIsDecided() throws {
    let files = try KeyedCorpus.files().filter { $0.expectation == "disputed" }
    let known = decisions.keys.filter { KeyedCorpus.hasAdditions || $0.hasPrefix("synthetic/") }
    #expect(Set(files.map(\.name)) == Set(known))
    for file in files {
      do {
        _ = try tree(file)
        #expect(decisions[file.name] == .some(nil), "\(file.name)")
      } catch let error as ArchiveError {
        #expect(decisions[file.name] == error.code, "\(file.name): \(error)")
      }
    }
  }

  @Test(.enabled(if: OtherReader.python != nil, "python3 is missing"))
  func valuesEqualThoseOfPython() throws {
    let python = try #require(OtherReader.python)
    let files = try KeyedCorpus.files().filter { $0.expectation != "-" }
    try withTemporaryFolder { folder in
      let arguments = ["-c", canonicalScript, folder.path] + files.map(\.url.path)
      let theirs = try python.run(arguments).output.split(separator: "\n")
      try #require(theirs.count == files.count)
      var compared = 0
      var comparedAsXML = 0
      for (number, (file, text)) in zip(files, theirs).enumerated() {
        guard text != "refused", let value = try? tree(file) else { continue }
        let ours = canonicalText(value)
        #expect(ours == String(text), "\(file.name)")
        compared += 1
        guard let xml = try? Data(contentsOf: URL(filePath: folder.path("\(number)"))) else { continue }
        let list = try PropertyList(ArchiveBytes(xml))
        #expect(list.format == .xml)
        #expect(try canonicalText(list.value()) == ours, "\(file.name) as XML")
        comparedAsXML += 1
      }
      #expect(compared > (KeyedCorpus.hasAdditions ? 250 : 30))
      #expect(comparedAsXML > (KeyedCorpus.hasAdditions ? 50 : 10))
    }
  }

  @Test func aTreeAsDeepAsTheLimitIsRead() throws {
    let file = KeyedCorpus.url("synthetic/dos_deep_arrays_600.bplist")
    var limits = ArchiveLimits()
    limits.depth = 601
    let value = try PropertyList(ArchiveBytes(contentsOf: file), limits: limits).value()
    guard case .array(let members) = value else { throw TestFailure() }
    #expect(members.count == 1)
  }

  private struct TestFailure: Error {}

  private func tree(_ file: KeyedCorpus.File) throws -> PropertyListValue {
    try PropertyList(ArchiveBytes(contentsOf: file.url)).value()
  }

  /// The code of the error for each disputed file, or nil if the file is read.
  private let decisions: [String: ArchiveError.Code?] = [
    "3breadt__dd-plist/github-issue73-3.plist": .unsupportedFormat,
    "3breadt__dd-plist/test-ascii.plist": .unsupportedFormat,
    "3breadt__dd-plist/test-xml-utf-32le-bom.plist": nil,
    "3breadt__dd-plist/test1-ascii-multiline-handling.plist": .unsupportedFormat,
    "dracula__terminal-app/Dracula.e95d9726.terminal": nil,
    "dracula__terminal-app/Galleta.a03aad91.terminal": nil,
    "ebarnard__rust-plist/ascii-animals.plist": .unsupportedFormat,
    "ebarnard__rust-plist/ascii-sample.plist": .unsupportedFormat,
    "ebarnard__rust-plist/binary_circular_array.plist": .malformed,
    "ebarnard__rust-plist/xml_entity_error.plist": .malformed,
    "joeferner__node-bplist-parser/iTunes-small.bplist": nil,
    "log2timeline__plaso/plist__empty.plist": .malformed,
    "log2timeline__plaso/plist__leading_whitespace.plist": nil,
    "swiftlang__swift-foundation/test_oldStylePlist_getSlashedChars_octal.plist": .unsupportedFormat,
    "synthetic/bp_256objs_ref1.bplist": nil,
    "synthetic/bp_date_1e300.bplist": nil,
    "synthetic/bp_date_nan.bplist": nil,
    "synthetic/bp_gap_before_trailer.bplist": .malformed,
    "synthetic/bp_hdr_01.bplist": nil,
    "synthetic/bp_hdr_only.bplist": .malformed,
    "synthetic/bp_int32bytes.bplist": .malformed,
    "synthetic/bp_off_in_trailer.bplist": .malformed,
    "synthetic/bp_self_array.bplist": .cyclic,
    "synthetic/bp_self_dict_value.bplist": .cyclic,
    "synthetic/bp_set.bplist": nil,
    "synthetic/bp_utf16_lone_surrogate.bplist": nil,
    "synthetic/dos_deep_arrays_600.bplist": .limitExceeded,
    "synthetic/dos_laughs_arrays_10e12.bplist": .limitExceeded,
    "synthetic/dos_laughs_arrays_2e40.bplist": .limitExceeded,
  ]
}
