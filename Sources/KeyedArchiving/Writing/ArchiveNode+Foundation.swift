public import Foundation
public import PropertyLists

/// Objects of Foundation's classes. Each call makes a new one.
extension ArchiveNode {
  /// An `NSString`. The text `$null`, which readers interpret as nil, becomes an `NSMutableString`.
  public static func string(_ text: String) -> ArchiveNode { ArchiveNode(content: .bare(.text(text))) }

  /// An `NSMutableString`.
  public static func mutableString(_ text: String) -> ArchiveNode {
    ArchiveNode(.mutableString, ["NS.string": .text(text)])
  }

  /// An `NSNumber` with a boolean.
  public static func number(_ flag: Bool) -> ArchiveNode { ArchiveNode(content: .bare(.bool(flag))) }

  /// An `NSNumber` with an integer.
  public static func number(_ integer: Int64) -> ArchiveNode {
    ArchiveNode(content: .bare(.integer(integer)))
  }

  /// An `NSNumber` with a real number.
  public static func number(_ real: Double) -> ArchiveNode { ArchiveNode(content: .bare(.real(real))) }

  /// An `NSNumber` with an integer that may be above `Int64.max`.
  public static func number(_ integer: UInt64) -> ArchiveNode {
    ArchiveNode(content: .bare(.unsigned(integer)))
  }

  /// An `NSDecimalNumber`.
  public static func decimal(_ decimal: Decimal) -> ArchiveNode {
    let parts = ArchivedDecimal(decimal)
    return ArchiveNode(
      .decimalNumber,
      [
        "NS.exponent": .integer(Int64(parts.exponent)), "NS.length": .integer(Int64(parts.length)),
        "NS.negative": .bool(parts.isNegative), "NS.compact": .bool(true),
        // The lower byte comes first.
        "NS.mantissa.bo": .integer(1), "NS.mantissa": .bytes(parts.mantissa),
      ])
  }

  /// An `NSData`.
  public static func data(_ data: Data) -> ArchiveNode { ArchiveNode(content: .bare(.bytes([UInt8](data)))) }

  /// An `NSData`.
  package static func data(_ bytes: [UInt8]) -> ArchiveNode { ArchiveNode(content: .bare(.bytes(bytes))) }

  /// An `NSMutableData`.
  public static func mutableData(_ data: Data) -> ArchiveNode {
    ArchiveNode(.mutableData, ["NS.data": .bytes([UInt8](data))])
  }

  /// An `NSDate`.
  public static func date(_ date: Date) -> ArchiveNode {
    ArchiveNode(.date, ["NS.time": .real(date.timeIntervalSinceReferenceDate)])
  }

  /// An `NSUUID`.
  public static func uuid(_ uuid: UUID) -> ArchiveNode {
    ArchiveNode(.uuid, ["NS.uuidbytes": .bytes(uuid.bytes)])
  }

  /// An `NSURL`, with its base URL.
  public static func url(_ url: URL) -> ArchiveNode {
    let base: Value = if let base = url.baseURL { .node(.url(base)) } else { .null }
    return ArchiveNode(.url, ["NS.base": base, "NS.relative": .string(url.relativeString)])
  }

  /// An `NSNull`, which represents nil in collections.
  public static func null() -> ArchiveNode { ArchiveNode(.null) }

  /// An `NSArray`, or an object of another class that stores its elements in the same way, such as a mutable array or a
  /// set.
  ///
  /// Numbers, texts and bytes among the elements become objects.
  public static func array(_ elements: [Value], as archivedClass: ArchivedClass = .array) -> ArchiveNode {
    ArchiveNode(archivedClass, ["NS.objects": .list(elements.map(\.boxed))])
  }

  /// An `NSSet`. The caller ensures that no element occurs twice.
  public static func set(_ elements: [Value]) -> ArchiveNode { array(elements, as: .set) }

  /// An `NSOrderedSet`, or a mutable one.
  public static func orderedSet(
    _ elements: [Value], as archivedClass: ArchivedClass = .orderedSet
  ) -> ArchiveNode {
    let fields = elements.enumerated().map { (key: "NS.object.\($0)", value: $1.boxed) }
    return ArchiveNode(content: .object(archivedClass, fields))
  }

  /// An `NSDictionary`, or a mutable one. The caller ensures that no key occurs twice.
  ///
  /// Numbers, texts and bytes among the keys and values become objects.
  public static func dictionary(
    _ members: [(key: Value, value: Value)], as archivedClass: ArchivedClass = .dictionary
  ) -> ArchiveNode {
    ArchiveNode(
      archivedClass,
      ["NS.keys": .list(members.map(\.key.boxed)), "NS.objects": .list(members.map(\.value.boxed))])
  }

  /// An `NSDictionary` whose keys are strings.
  public static func dictionary(_ members: KeyValuePairs<String, Value>) -> ArchiveNode {
    dictionary(members.map { (key: .string($0.key), value: $0.value) })
  }

  /// An `NSIndexPath`.
  public static func indexPath(_ indexPath: IndexPath) -> ArchiveNode {
    let node = ArchiveNode(.indexPath, ["NSIndexPathLength": .integer(Int64(indexPath.count))])
    if indexPath.count == 1 {
      node.set("NSIndexPathValue", .integer(Int64(indexPath[0])))
    } else if indexPath.count > 1 {
      node.set("NSIndexPathData", .data(Varints.packed(indexPath)))
    }
    return node
  }

  /// An `NSIndexSet`.
  public static func indexSet(_ indexes: IndexSet) -> ArchiveNode {
    let ranges = Array(indexes.rangeView)
    let node = ArchiveNode(.indexSet, ["NSRangeCount": .integer(Int64(ranges.count))])
    if ranges.count == 1 {
      node.set("NSLocation", .integer(Int64(ranges[0].lowerBound)))
      node.set("NSLength", .integer(Int64(ranges[0].count)))
    } else if ranges.count > 1 {
      node.set("NSRangeData", .data(Varints.packed(ranges.flatMap { [$0.lowerBound, $0.count] })))
    }
    return node
  }
}

extension ArchiveNode.Value {
  /// A new `NSString`.
  public static func string(_ text: String) -> Self { .node(.string(text)) }

  /// A new `NSData`.
  public static func data(_ data: Data) -> Self { .node(.data(data)) }

  /// A new `NSDate`.
  public static func date(_ date: Date) -> Self { .node(.date(date)) }

  /// A new `NSUUID`.
  public static func uuid(_ uuid: UUID) -> Self { .node(.uuid(uuid)) }

  /// A new `NSURL`.
  public static func url(_ url: URL) -> Self { .node(.url(url)) }

  /// A new `NSArray`.
  public static func array(_ elements: [Self]) -> Self { .node(.array(elements)) }

  /// A new `NSDictionary`.
  public static func dictionary(_ members: KeyValuePairs<String, Self>) -> Self {
    .node(.dictionary(members))
  }

  /// The value as an object or nil, as collections contain it.
  package var boxed: Self {
    switch self {
    case .null, .node: self
    case .list(let elements): .array(elements)
    default: .node(ArchiveNode(content: .bare(self)))
    }
  }
}
