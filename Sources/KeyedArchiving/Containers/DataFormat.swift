public import PropertyLists

/// A data format, detected from the first bytes.
///
/// Apps have stored their data in many formats. Formats that this module doesn't read are recognized too, so that an
/// error can name the format and what to do.
public struct DataFormat: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
  /// The name of the format, such as `binary property list`.
  public let rawValue: String
  /// Makes the format with the given name.
  public init(rawValue: String) { self.rawValue = rawValue }

  /// A binary property list of version 0, which this module reads.
  public static let binaryPropertyList = DataFormat(rawValue: "binary property list")
  /// An XML property list, which this module reads, or other XML, which it doesn't read.
  public static let xmlPropertyList = DataFormat(rawValue: "XML property list")
  /// A binary property list of another version: `bplist15`, `bplist16` or `bplist17`.
  public static let otherBinaryPropertyList = DataFormat(rawValue: "binary property list of another version")
  /// A property list in the text form of OpenStep and GNUstep, or a `.strings` file.
  public static let openStepPropertyList = DataFormat(rawValue: "OpenStep property list")
  /// A property list in GNUstep's own binary form.
  public static let gnustepPropertyList = DataFormat(rawValue: "GNUstep binary property list")
  /// An archive of GNUstep's NSArchiver.
  public static let gnustepArchive = DataFormat(rawValue: "GNUstep archive")
  /// The `typedstream` of NSArchiver, which preceded keyed archives.
  public static let typedStream = DataFormat(rawValue: "typedstream")
  /// A compiled interface file of iOS 6 and later.
  public static let nibArchive = DataFormat(rawValue: "NIBArchive")
  /// JSON.
  public static let json = DataFormat(rawValue: "JSON")
  /// An SQLite database, such as one of Core Data.
  public static let sqlite = DataFormat(rawValue: "SQLite database")
  /// Data compressed by gzip.
  public static let gzip = DataFormat(rawValue: "gzip")
  /// A ZIP archive.
  public static let zip = DataFormat(rawValue: "ZIP archive")
  /// No bytes at all.
  public static let empty = DataFormat(rawValue: "empty")
  /// Any other format.
  public static let unknown = DataFormat(rawValue: "unknown format")

  /// The name of the format.
  public var description: String { rawValue }

  /// Detects the format of bytes, or of a part of them.
  ///
  /// At most the first 4 KiB are read.
  ///
  /// - Throws: `malformed` if the range is not within the bytes; `io` or `damaged` if a file can't be read.
  public init(of bytes: ArchiveBytes, in range: Range<Int>? = nil) throws(ArchiveError) {
    let range = range ?? 0..<bytes.count
    let count = min(try bytes.checkedCount(range), Self.lookahead)
    self.init(start: try bytes.copy(of: range.lowerBound..<range.lowerBound + count))
  }

  static let lookahead = 4096

  private init(start: [UInt8]) {
    if start.isEmpty {
      self = .empty
    } else if let format = Self.signatures.first(where: { start.starts(with: $0.0) }) {
      self = format.1
    } else if start.starts(with: Array("bplist".utf8)) {
      self = .otherBinaryPropertyList
    } else {
      self = TextFormatSniffer(start).format
    }
  }

  private static let signatures: [([UInt8], DataFormat)] = [
    (Array("bplist0".utf8), .binaryPropertyList),
    (Array("\u{4}\u{B}streamtyped".utf8), .typedStream),
    (Array("\u{4}\u{B}typedstream".utf8), .typedStream),
    (Array("GNUstep archive".utf8), .gnustepArchive),
    // A dictionary or an array, mutable or not, of fewer than 2²⁴ elements: a 0, the type, then the count.
    ([0, 3, 0], .gnustepPropertyList),
    ([0, 4, 0], .gnustepPropertyList),
    ([0, 5, 0], .gnustepPropertyList),
    ([0, 6, 0], .gnustepPropertyList),
    (Array("NIBArchive".utf8), .nibArchive),
    (Array("SQLite format 3\0".utf8), .sqlite),
    ([0x1F, 0x8B], .gzip),
    (Array("PK\u{3}\u{4}".utf8), .zip),
  ]

  /// GNUstep's command that makes a binary property list. Its XML would not do, because it escapes some characters in a way
  /// of its own.
  private static let plser =
    "GNUstep's `plser -Format NSPropertyListBinaryFormat_v1_0 FILE > NEW` (in Debian's gnustep-base-runtime)"

  /// The error message for bytes of this format: why they are not read as a property list, and what to do.
  var refusal: String {
    switch self {
    case .otherBinaryPropertyList:
      "this is a binary property list of a version other than 0, which only Apple's own services use; save it as "
        + "an XML or binary property list (bplist00) with the program that made it"
    case .openStepPropertyList:
      "this is a property list in the old OpenStep text form, which is not read; convert it and read the result: on "
        + "a Mac with `plutil -convert xml1 FILE`, elsewhere with \(Self.plser)"
    case .gnustepPropertyList:
      "this is a property list in GNUstep's own binary form; convert it with \(Self.plser) and read the result"
    case .gnustepArchive:
      "this is an archive of GNUstep's NSArchiver; convert it with a GNUstep program that reads it with NSUnarchiver "
        + "and writes it with NSKeyedArchiver"
    case .typedStream:
      "this is a typedstream, which NSArchiver wrote before there were keyed archives; convert it on a Mac by "
        + "reading it with NSUnarchiver and writing it with NSKeyedArchiver"
    case .nibArchive:
      "this is a compiled interface file (NIBArchive), which holds views and no data of an app"
    case .json: "this is JSON, not a property list; a Mac converts it with `plutil -convert xml1 FILE`"
    case .gzip, .zip: "this is compressed (\(rawValue)); unpack it first"
    case .sqlite: "this is an SQLite database, perhaps of Core Data, and not a property list"
    case .empty: "there are no bytes, where a property list should be"
    default: "this is neither a binary nor an XML property list: it begins like neither"
    }
  }
}
