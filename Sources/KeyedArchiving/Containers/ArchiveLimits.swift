/// Bounds that keep a hostile file from costing more than its size lets expect.
///
/// Opening a binary property list costs the same whatever it holds, and each object's length is checked against
/// the bytes that are there. The limits bound what remains: what grows with the size of the input, and what small
/// inputs can blow up to.
public struct ArchiveLimits: Hashable, Sendable {
  /// How many bytes an input may have. By default 4 GiB.
  ///
  /// A file is read page by page as it is used. XML, and no other form, is kept in memory as a whole, together with
  /// a binary form of about the same size.
  public var byteCount = 1 << 32
  /// How many objects a container may have. By default 2³².
  public var objectCount = 1 << 32
  /// How deep the collections of an XML property list, or of a tree of values, may be nested. By default 512, as
  /// in Apple's own reader.
  ///
  /// Reading needs no stack, but releasing and comparing trees does: a few hundred bytes a level.
  public var depth = 512
  /// How many values a tree may have, each counted as often as it occurs in it, and how many a decoder may make. By
  /// default 8 million.
  ///
  /// A small input is held to less: to twice its bytes, and 65,536 more.
  public var valueCount = 8_000_000
  /// How deeply archives may be nested in each other's data. By default 8.
  public var nestedArchiveDepth = 8

  /// The default limits.
  public init() {}
}
