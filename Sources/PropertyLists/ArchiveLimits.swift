/// Limits on the cost of reading a hostile file.
///
/// Opening a binary property list takes the same time whatever it contains, and each object's length is checked against
/// the bytes that exist. These limits bound the rest: what grows with the size of the input, and what a small input can
/// expand to.
public struct ArchiveLimits: Hashable, Sendable {
  /// The maximum size of an input, in bytes. By default 4 GiB.
  ///
  /// A file is read page by page, as it is used. Only XML is kept in memory as a whole, together with a binary form of
  /// at most one and a half times its size.
  public var byteCount = 1 << 32
  /// The maximum nesting of collections in an XML property list or in a tree of values. By default 512, as in
  /// Apple's own reader.
  ///
  /// Reading is not recursive, but releasing and comparing trees takes a few hundred bytes of stack for each level.
  public var depth = 512
  /// How many values a tree may have, and how many a decoder may produce. A shared value counts each time it occurs. By
  /// default 8 million.
  ///
  /// The limits for a small input are lower: 65,536 values plus, for each byte, 2 in a tree and 16 for a decoder.
  public var valueCount = 8_000_000
  /// The maximum nesting of archives that are embedded as data in other archives. By default 8.
  public var nestedArchiveDepth = 8

  /// The default limits.
  public init() {}
}
