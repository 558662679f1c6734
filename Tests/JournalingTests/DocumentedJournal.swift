import Foundation
import LevelDB
import TestSupport

/// The worked example of Documentation/Format.md. It must never change, because journals of format 2 have these bytes.
enum Documented {
  static let format = "journal 2 b8d6f358-f45b-4c12-bd27-53cd0bd018ba\nmodel ledger 1\n"
  static let journalID = bytes("b8d6f358f45b4c12bd2753cd0bd018ba")

  static let entries = [
    """
    a50002021b000657f95e40280004010658201233ebd27aca356ad663cf2735acaf6d29010f40a7088c46798f253e15ed42470882
    8400000100840000020083582c3c1f0a9be27d4458a6b1c0d2e3f40516a30063616e6102696d6f76696e6720696e04a163617070
    6462616e6b582525f4414d993d769663c19b9a827a4a0ca2656f776e657263416e616762616c616e63651864582470bb808e5c91
    26fc1345007c46087729a2656f776e657263426f626762616c616e636500
    """,
    """
    a50002021b000657f961d3af000401065820fe63c0b24401fc8d46e3d42e2e5fbfc94f14b92f896d2691e2f41a3b65ed7d470882
    8401000101840100020183581c9d04c6e1b7524fa08b3e5f6071829304a20063626f62026472656e74581bf5a31028ba7d49914b
    c1463780a1857ca16762616c616e63651846581bc140cae509661a3896df68d0ad49242da16762616c616e6365181e
    """,
    """
    a50002021b000657fa34db6d20040106582025d5fd00ed0133a924fa6a780ffdf9d3712d3abb54a6fb3d89f4128f73f2938e0882
    8401000102840200020283565e8817d3f02b4c69a1d4e7b8c9fa0b1ca10063616e615822bab26c4cf52bdc970073fbe01b0beb47
    a2656f776e6572f76762616c616e6365186440
    """,
    """
    a70002011b000657f95e47c920021b000657fa34db6d2003030401065820581540b2c6797acd052d432d99a201a9dee864424074
    51c10ba4668398d88a870881840000030083405824a7c25b1e60934d8fb2e6f1029384a5b6a2656f776e6572634576656762616c
    616e6365055830d18f42a69b7c4e03856a1b2c3d4e5f60c6ef7c230c8b1dc86cefa1595d56ad4f277e1d8b2beedc8599d5536fed
    4cfcf9
    """,
  ].map { bytes($0.replacingOccurrences(of: "\n", with: "")) }

  /// The first entry with the payload of account 2 erased.
  static let erasedEntry = bytes(
    """
    a50002021b000657f95e40280004010658201233ebd27aca356ad663cf2735acaf6d29010f40a7088c46798f253e15ed42470882
    8400000100840000020083582c3c1f0a9be27d4458a6b1c0d2e3f40516a30063616e6102696d6f76696e6720696e04a163617070
    6462616e6b582525f4414d993d769663c19b9a827a4a0ca2656f776e657263416e616762616c616e63651864d907d25820291baf
    353a6b984bf251530b466714c7cfb145cfe7d28eada1ecb8d72c75c5e1
    """.replacingOccurrences(of: "\n", with: ""))

  /// The digest of revision 0, which is that of FORMAT.
  static let formatDigest = "1233ebd27aca356ad663cf2735acaf6d29010f40a7088c46798f253e15ed4247"
  static let digests = [
    "fe63c0b24401fc8d46e3d42e2e5fbfc94f14b92f896d2691e2f41a3b65ed7d47",
    "25d5fd00ed0133a924fa6a780ffdf9d3712d3abb54a6fb3d89f4128f73f2938e",
    "581540b2c6797acd052d432d99a201a9dee86442407451c10ba4668398d88a87",
    "5ee2e1541f10a5a8aefd7971c18c814de75d6bcbadf9532fb68c56728b5e4bd5",
  ]
  /// The digest of the state at revision 3.
  static let stateDigest = "c6ef7c230c8b1dc86cefa1595d56ad4f277e1d8b2beedc8599d5536fed4cfcf9"

  /// Where the header of each entry ends, and the ranges of its parts.
  static let parts = [
    (62, [65..<109, 111..<148, 150..<186]),
    (62, [65..<93, 95..<122, 124..<151]),
    (62, [64..<86, 88..<122, 123..<123]),
    (69, [71..<71, 73..<109, 111..<159]),
  ]

  /// The ranges that differ each time an entry is written: its date, the digest before it, its salts.
  static let variable = [
    [5..<13, 18..<50, 65..<81, 111..<127, 150..<166],
    [5..<13, 18..<50, 65..<81, 95..<111, 124..<140],
  ]

  /// Two slots of HEAD, for the entries 4 and 3.
  static let slots = [
    bytes("4a524e4c48454144b8d6f358f45b4c12bd2753cd0bd018ba0000000000000004" + digests[3] + "9ab8111f"),
    bytes("4a524e4c48454144b8d6f358f45b4c12bd2753cd0bd018ba0000000000000003" + digests[2] + "601b3c13"),
  ]

  /// Fifth entries, as a later version might write them.
  enum Fifth {
    /// Odd keys in the header and the annotation, and an additional part.
    static let withExtensions = bytes(
      """
      a70002021b000657fa34eaaf6004010658205ee2e1541f10a5a8aefd7971c18c814de75d6bcbadf9532fb68c56728b5e4bd50881
      84010001030961780ba1616182010283581c000102030405060708090a0b0c0d0e0fa2006365766507646b657074581a00112233
      445566778899aabbccddeeffa16762616c616e63650755000102030405060708090a0b0c0d0e0f6c61746572
      """.replacingOccurrences(of: "\n", with: ""))
    /// An unknown even key.
    static let withFeature = bytes(
      """
      a60002021b000657fa34eaaf6004010658205ee2e1541f10a5a8aefd7971c18c814de75d6bcbadf9532fb68c56728b5e4bd50881
      84010001030a018240581a00112233445566778899aabbccddeeffa16762616c616e636507
      """.replacingOccurrences(of: "\n", with: ""))
    /// Another version.
    static let ofVersion3 = bytes(
      """
      a50003021b000657fa34eaaf6004010658205ee2e1541f10a5a8aefd7971c18c814de75d6bcbadf9532fb68c56728b5e4bd50881
      84010001038240581a00112233445566778899aabbccddeeffa16762616c616e636507
      """.replacingOccurrences(of: "\n", with: ""))
    /// An unknown even key in the annotation.
    static let withAnnotationFeature = bytes(
      """
      a50002021b000657fa34eaaf6004010658205ee2e1541f10a5a8aefd7971c18c814de75d6bcbadf9532fb68c56728b5e4bd50881
      8401000103825818000102030405060708090a0b0c0d0e0fa200636576650601581a00112233445566778899aabbccddeeffa167
      62616c616e636507
      """.replacingOccurrences(of: "\n", with: ""))
    /// Version 2 of the model.
    static let ofNewerModel = bytes(
      """
      a50002021b000657fa34eaaf6004020658205ee2e1541f10a5a8aefd7971c18c814de75d6bcbadf9532fb68c56728b5e4bd50881
      84010001038240581a00112233445566778899aabbccddeeffa16762616c616e636507
      """.replacingOccurrences(of: "\n", with: ""))
    /// A date that no entry can have.
    static let inYear10000 = bytes(
      """
      a50002021b0384440ccc73600004010658205ee2e1541f10a5a8aefd7971c18c814de75d6bcbadf9532fb68c56728b5e4bd50881
      84010001038240581a00112233445566778899aabbccddeeffa16762616c616e636507
      """.replacingOccurrences(of: "\n", with: ""))
  }

  static func key(_ revision: Int) -> [UInt8] { [0x65, 0, 0, 0, 0, 0, 0, 0, UInt8(revision)] }

  static var text: String {
    get throws {
      let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..")
      return try String(contentsOf: root.appending(path: "Documentation/Format.md"), encoding: .utf8)
    }
  }
}

/// Makes a journal of documented bytes, without the code that writes journals.
func withDocumentedJournal<Result>(
  format: String = Documented.format, entries: [[UInt8]] = Documented.entries, _ body: (URL) throws -> Result
) throws -> Result {
  try withTemporaryFolder { folder in
    let url = folder.url.appendingPathComponent("Bank.journal")
    for name in ["", "entries", "images", "snapshots"] {
      try FileManager.default.createDirectory(
        atPath: folder.path("Bank.journal/\(name)"), withIntermediateDirectories: false,
        attributes: [.posixPermissions: 0o700])
    }
    try Data(format.utf8).write(to: url.appendingPathComponent("FORMAT"))
    let padding = [UInt8](repeating: 0, count: 4096 - 68)
    let empty = [UInt8](repeating: 0, count: 4096)
    try Data(Documented.slots.flatMap { $0 + padding } + empty).write(to: url.appendingPathComponent("HEAD"))
    let database = try Database(path: url.appendingPathComponent("entries").path, access: .existingOrNew)
    let log = [(key: Array("m".utf8), value: Documented.journalID)]
    try database.write(
      log + entries.enumerated().map { (key: Documented.key($0 + 1), value: $1) }, sync: true)
    database.close()
    return try body(url)
  }
}

func bytes(_ hex: String) -> [UInt8] {
  let digits = Array(hex)
  return stride(from: 0, to: digits.count, by: 2).map { UInt8(String(digits[$0...$0 + 1]), radix: 16)! }
}

func hex(_ bytes: some Sequence<UInt8>) -> String {
  bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
}
