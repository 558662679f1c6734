import KeyedArchiving
import Testing

@Suite struct DataFormatTests {
  @Test(
    arguments: [
      ("", .empty), ("bplist00", .binaryPropertyList), ("bplist05", .binaryPropertyList),
      ("bplist16", .otherBinaryPropertyList), ("bplistX", .otherBinaryPropertyList),
      ("<?xml version='1.0'?>", .xmlPropertyList), ("\n <dict/>", .xmlPropertyList),
      ("\u{FEFF}<a", .xmlPropertyList),
      ("<", .xmlPropertyList), ("<data/>", .xmlPropertyList), ("<dead beef>", .openStepPropertyList),
      ("{ a = b; }", .openStepPropertyList), ("{ \"a\" = b; }", .openStepPropertyList),
      ("( a, b )", .openStepPropertyList),
      ("<*I5>", .openStepPropertyList), ("<[D713]>", .openStepPropertyList),
      ("GNUstep archive00002af8:00000003:00000003:00000000:", .gnustepArchive),
      ("\0\u{5}\0\0\0\u{7}\u{1}\0\0\0\u{2}d\0", .gnustepPropertyList),
      ("\0\u{3}\0\0\0\u{1}\u{1}\0\0\0\u{2}a\0", .gnustepPropertyList), ("\0\u{1}\0\0", .unknown),
      ("/* a */ \"b\" = \"c\";", .openStepPropertyList), ("\u{FEFF}\"b\" = \"c\";", .openStepPropertyList),
      ("{ \"a\\\"\" : 1 }", .json), ("{}", .json), ("[1]", .json), ("{\"", .openStepPropertyList),
      ("{\"\\", .openStepPropertyList),
      ("\u{4}\u{B}streamtyped\u{1}", .typedStream), ("NIBArchive", .nibArchive),
      ("SQLite format 3\0", .sqlite),
      ("PK\u{3}\u{4}", .zip), ("hello", .unknown), ("42", .unknown),
    ] as [(String, DataFormat)])
  func formatsAreRecognizedByTheirFirstBytes(_ text: String, _ expected: DataFormat) throws {
    #expect(try DataFormat(of: ArchiveBytes(Array(text.utf8))) == expected)
  }

  @Test func binaryFormatsAreRecognized() throws {
    #expect(try DataFormat(of: ArchiveBytes([0x1F, 0x8B, 8])) == .gzip)
    #expect(try DataFormat(of: ArchiveBytes([0xFF, 0xFE, 0x7B, 0, 0x61, 0])) == .openStepPropertyList)
    #expect(try DataFormat(of: ArchiveBytes([0xFE, 0xFF, 0, 0x3C])) == .xmlPropertyList)
  }

  @Test func theFormatOfAPartIsRecognized() throws {
    let bytes = ArchiveBytes(Array("..bplist00<".utf8))
    #expect(try DataFormat(of: bytes, in: 2..<10) == .binaryPropertyList)
    #expect(try DataFormat(of: bytes, in: 10..<11) == .xmlPropertyList)
    #expect(throws: ArchiveError.self) { try DataFormat(of: bytes, in: 10..<12) }
  }

  @Test func anotherFormatIsRefusedAndNamed() throws {
    for (text, words) in [
      ("{ a = b; }", "OpenStep"), ("{ a = b; }", "`plser "), ("\0\u{5}\0\0\0\u{7}", "`plser "),
      ("GNUstep archive00002af8", "GNUstep's NSArchiver"), ("\u{4}\u{B}streamtyped", "typedstream"),
      ("NIBArchive", "NIBArchive"),
      ("[]", "JSON"), ("bplist15", "version"), ("SQLite format 3\0", "SQLite"), ("", "no bytes"),
      ("x", "neither"),
    ] {
      do {
        _ = try PropertyList(ArchiveBytes(Array(text.utf8)))
        Issue.record("\(text) is read")
      } catch {
        #expect(error.code == .unsupportedFormat)
        #expect(error.message.contains(words), "\(error)")
      }
    }
  }

  @Test func aCorruptBinaryListIsNotReadAsText() throws {
    do {
      _ = try PropertyList(ArchiveBytes(Array("bplist00{ a = b; }".utf8)))
      Issue.record("it is read")
    } catch {
      #expect(error.code == .malformed)
      #expect(error.message.contains("binary"))
    }
  }
}
