/// Limits on the cost of reading a hostile file.
///
/// Opening a binary property list takes the same time whatever it contains, and each object's length is checked against
/// the bytes that exist. These limits bound the rest: what grows with the size of the input, and what a small input can
/// expand to.
public struct ArchiveLimits: Hashable, Sendable {
  /// How many bytes an input may have. By default 4 GiB.
  ///
  /// A file is read page by page, as it is used. Only XML is kept in memory as a whole, together with a binary form of
  /// at most one and a half times its size.
  public var byteCount = 1 << 32
  /// How deeply the collections of an XML property list or of a tree of values may be nested. By default 512, as in
  /// Apple's own reader.
  ///
  /// Reading needs no stack, but releasing and comparing trees needs a few hundred bytes of it for each level.
  public var depth = 512
  /// How many values a tree may have, and how many a decoder may produce. A shared value counts each time it occurs. By
  /// default 8 million.
  ///
  /// The limit for a small input is lower: twice its bytes, plus 65,536.
  public var valueCount = 8_000_000
  /// How deeply archives may be nested in each other's data. By default 8.
  public var nestedArchiveDepth = 8

  /// The default limits.
  public init() {}
}
