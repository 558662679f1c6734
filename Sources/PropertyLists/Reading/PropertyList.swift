/// A property list as a container with random access: nothing is decoded before it is accessed.
///
/// A property list is a numbered set of objects, in which collections refer to other objects by number. Opening a
/// binary property list reads only its first bytes and its last 32. The module KeyedArchiving also opens XML, and
/// returns objects as values.
///
/// Any number of threads may use a value of this type at once.
public struct PropertyList: Sendable {
  /// The form that a property list was read from.
  public enum Format: Hashable, Sendable {
    /// Binary: `bplist00`.
    case binary
    /// XML, in UTF-8, UTF-16 or UTF-32.
    case xml
  }

  /// The form that the property list was read from.
  public let format: Format
  /// The bytes of the binary property list: the input itself, or a binary form made from XML.
  public private(set) var bytes: ArchiveBytes
  /// The limits with which the property list was opened.
  public let limits: ArchiveLimits
  /// How many objects there are. They are numbered from 0.
  public let objectCount: Int
  /// The number of the object that contains all others.
  public let top: Int

  /// Where the objects end and the table of their offsets begins.
  package private(set) var objectsEnd: Int
  /// How many bytes an offset in the table has.
  let offsetWidth: Int
  /// How many bytes an object's number in a collection has.
  package let referenceWidth: Int

  /// Opens a binary property list. Offsets are checked when they are used, so opening reads only the first bytes and
  /// the trailer.
  ///
  /// - Parameter format: the form that the bytes were made from.
  /// - Throws: `malformed` with the place if the bytes break the rules of the format; `io` or `damaged` if a file can't
  ///   be read.
  /// - Complexity: O(1).
  package init(
    binary bytes: ArchiveBytes, format: Format = .binary, limits: ArchiveLimits = .init()
  ) throws(ArchiveError) {
    func refusal(_ message: String, at offset: Int) -> ArchiveError {
      ArchiveError(.malformed, "the binary property list \(message)", offset: offset, path: bytes.path)
    }
    // The smallest list has the header, an object of one byte, an offset of one byte, and the trailer.
    guard bytes.count >= Self.headerSize + 2 + Self.trailerSize else {
      throw refusal("has \(bytes.count) bytes; the smallest one has 42: it was truncated", at: bytes.count)
    }
    for (offset, byte) in "bplist0".utf8.enumerated() where try bytes.byte(at: offset) != byte {
      throw refusal("does not begin with `bplist0`", at: 0)
    }
    let trailer = bytes.count - Self.trailerSize
    let offsetWidth = Int(try bytes.byte(at: trailer + 6))
    let referenceWidth = Int(try bytes.byte(at: trailer + 7))
    let objectCount = try bytes.number(at: trailer + 8, width: 8)
    let top = try bytes.number(at: trailer + 16, width: 8)
    let table = try bytes.number(at: trailer + 24, width: 8)

    guard offsetWidth > 0, referenceWidth > 0 else {
      throw refusal("has offsets or references of 0 bytes: its end is damaged or missing", at: trailer + 6)
    }
    guard table > Self.headerSize, table < UInt64(trailer) else {
      throw refusal(
        "says that its offset table is at byte \(table): its end is damaged or missing", at: trailer + 24)
    }
    let tableSize = objectCount.multipliedReportingOverflow(by: UInt64(offsetWidth))
    guard objectCount > 0, !tableSize.overflow, tableSize.partialValue == UInt64(trailer) - table else {
      throw refusal(
        "says that it has \(objectCount) objects, with \(offsetWidth) bytes for the offset of each, but there are "
          + "\(UInt64(trailer) - table) bytes of offsets: its end is damaged or missing", at: trailer + 8)
    }
    guard top < objectCount else {
      throw refusal("names object \(top) as its top, but has only \(objectCount)", at: trailer + 16)
    }
    guard offsetWidth >= 8 || table <= (1 << UInt64(8 * offsetWidth)) - 1 else {
      throw refusal("has offsets of \(offsetWidth) bytes, too few for its size", at: trailer + 6)
    }
    // Apple's reader requires one unused object number. Some writers use all numbers, which is not ambiguous.
    guard referenceWidth >= 8 || objectCount - 1 <= (1 << UInt64(8 * referenceWidth)) - 1 else {
      throw refusal("has references of \(referenceWidth) bytes, too few for its objects", at: trailer + 7)
    }

    self.format = format
    self.bytes = bytes
    self.limits = limits
    self.objectCount = Int(objectCount)
    self.top = Int(top)
    self.offsetWidth = offsetWidth
    self.referenceWidth = referenceWidth
    objectsEnd = Int(table)
  }

  /// Copies some of the objects, for a thread that reads them in many places. Offsets in the copy begin at 0, and numbers
  /// of objects do not apply to it.
  /// - Throws: as ``ArchiveBytes/withBytes(in:_:)`` does.
  package func copy(of range: Range<Int>) throws(ArchiveError) -> PropertyList {
    var copy = self
    copy.bytes = try bytes.copy(of: range)
    copy.objectsEnd = range.count
    return copy
  }

  static let headerSize = 8
  static let trailerSize = 32
}
