public import Foundation
public import PropertyLists

/// A property list as a tree of values.
///
/// A part that is shared in the file occurs in each place that uses it. Strings marked as ASCII that contain other
/// bytes are read as UTF-8 or, if that is invalid, as Latin-1. Half of a surrogate pair becomes U+FFFD.
public enum PropertyListValue: Hashable, Sendable {
  /// The marker 0x00, with which some writers represent a missing value.
  case null
  /// True or false.
  case bool(Bool)
  /// An integer.
  case integer(Int64)
  /// An integer above `Int64.max`.
  case unsigned(UInt64)
  /// An integer that fits into neither `Int64` nor `UInt64`.
  indirect case bigInteger(Int128)
  /// A floating-point number of single or double precision.
  case real(Double)
  /// Seconds since 2001-01-01T00:00:00Z. May be infinite or NaN.
  case date(Double)
  /// Bytes.
  case data(Data)
  /// A string.
  case string(String)
  /// A number with which a keyed archive refers to its own objects.
  case uid(UInt32)
  /// The members of an array, in order.
  case array([PropertyListValue])
  /// The members of a set, in the order of the file.
  case set([PropertyListValue])
  /// The members of a dictionary, in the order of the file. Repeated keys are kept. Two dictionaries are equal if their
  /// members are equal and in the same order.
  case dictionary([Member])

  /// A member of a dictionary.
  public struct Member: Hashable, Sendable {
    /// The key. It is a string in almost all files, and never a collection.
    public let key: PropertyListValue
    /// The value.
    public let value: PropertyListValue

    /// A member of a dictionary.
    public init(key: PropertyListValue, value: PropertyListValue) {
      self.key = key
      self.value = value
    }
  }

  /// The value for a string key; nil if this is not a dictionary or has no such key. If the key occurs more than once,
  /// its first occurrence counts, as in Apple's reader.
  ///
  /// - Complexity: O(the dictionary's count).
  public subscript(key: String) -> PropertyListValue? {
    guard case .dictionary(let members) = self else { return nil }
    return members.first { $0.key == .string(key) }?.value
  }
}

extension PropertyList {
  /// An object, by its number, as a tree of values; by default the top of the list.
  ///
  /// Shared parts are read once and share their memory. `ArchiveLimits.valueCount` bounds the work.
  ///
  /// - Throws: `cyclic` if a collection contains itself; `limitExceeded` if the tree is deeper or larger than the
  ///   limits allow; `malformed`, `danglingReference`, `io` or `damaged` for the reasons that `object(_:)` names.
  public func value(_ number: Int? = nil) throws(ArchiveError) -> PropertyListValue {
    try tree(number, sharing: 1 << 16) { node in
      switch node {
      case .leaf(let value): value
      case .array(let elements): .array(elements)
      case .set(let elements): .set(elements)
      case .dictionary(let members, let count):
        .dictionary((0..<count).map { .init(key: members[$0], value: members[count + $0]) })
      }
    }
  }

  /// An object, by its number, as a tree of values that `make` makes; by default the top of the list.
  ///
  /// - Parameters:
  ///   - extra: the number of values allowed in addition to two for each byte, because a shared value counts each time.
  ///   - make: makes a value. For a collection, it gets the values that it has made of the members.
  package func tree<Tree>(
    _ number: Int? = nil, sharing extra: Int, _ make: @escaping (TreeNode<Tree>) -> Tree
  ) throws(ArchiveError) -> Tree {
    var builder = TreeBuilder(self, sharing: extra, make)
    return try builder.tree(number ?? top)
  }
}
