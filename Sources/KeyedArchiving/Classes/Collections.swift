import PropertyLists

// Arrays, sets, dictionaries and tables: how each is read, and then how it is written.

/// The members of a counted set, and the count of each.
public struct ArchivedCountedSet: Sendable {
  /// The distinct members, in the order of the file.
  public let members: ArchivedArray
  /// The count of each member, in the order of ``members``.
  public let counts: [Int]
}

extension ArchivedValue {
  /// The elements of an array of the property list, or of an object derived from `NSArray`. Nils are kept.
  ///
  /// - Throws: `ArchiveError` with code `malformed` if elements are missing.
  public var array: ArchivedArray? {
    get throws(ArchiveError) {
      if case .array(let array) = self { return array }
      // `NSCoder` wraps a C array in a separate object.
      guard let object = kind(of: "_NSKeyedCoderOldStyleArray") else {
        return try kind(of: "NSArray")?.elements()
      }
      // The count is only compared with the elements, never trusted: an archive of 274 bytes may claim 2⁴⁰.
      let elements = try object.unkeyedValues
      guard try object.integer("NS.count") == elements.count else {
        throw object.malformed("the array has \(elements.count) elements, not as many as it says")
      }
      return elements
    }
  }

  /// The members of an `NSSet`, in no meaningful order, or of an `NSOrderedSet`. Each member of an `NSCountedSet`
  /// occurs once.
  ///
  /// - Throws: `ArchiveError` with code `malformed` if members are missing.
  public var set: ArchivedArray? {
    get throws(ArchiveError) {
      if let counted = try countedSet { return counted.members }
      return try kind(of: "NSOrderedSet", "NSSet")?.elements()
    }
  }

  /// The members of an `NSCountedSet`, and the count of each.
  ///
  /// - Throws: `ArchiveError` with code `malformed` if members or counts are missing.
  public var countedSet: ArchivedCountedSet? {
    get throws(ArchiveError) {
      guard let object = kind(of: "NSCountedSet") else { return nil }
      let members = try object.fields.numberedSequence("NS.object")
      let countNumbers = try object.fields.numberedSequence("NS.count")
      guard try object.integer("NS.count") == members.count, countNumbers.count == members.count else {
        throw object.malformed("the counted set doesn't have as many members and counts as it says")
      }
      var counts: [Int] = []
      for number in countNumbers {
        guard let count = try object.fields.graph.value(number, holder: object.uid).integer, count > 0 else {
          throw object.malformed("the counted set has a count that is not above zero")
        }
        counts.append(count)
      }
      return ArchivedCountedSet(members: object.array(.numbers(members)), counts: counts)
    }
  }

  /// The pairs of a dictionary of the property list, or of an object derived from `NSDictionary`. Pairs whose value is
  /// nil are kept.
  ///
  /// - Throws: `ArchiveError` with code `malformed` if the numbers of keys and values differ, or some are missing.
  public var dictionary: ArchivedDictionary? {
    get throws(ArchiveError) {
      if case .dictionary(let dictionary) = self { return dictionary }
      guard let object = kind(of: "NSDictionary") else { return nil }
      let keys = try object.elements("NS.keys", old: "NS.key.")
      let values = try object.elements("NS.objects", old: "NS.object.")
      guard keys.count == values.count else {
        throw object.malformed("the dictionary has \(keys.count) keys and \(values.count) values")
      }
      return ArchivedDictionary(keys: keys, allValues: values)
    }
  }

  /// The members of an `NSHashTable` or `NSPointerArray`.
  ///
  /// - Throws: `ArchiveError` with code `malformed` if members are missing.
  public var hashTable: ArchivedArray? {
    get throws(ArchiveError) {
      guard let object = kind(of: "NSHashTable", "NSPointerArray") else { return nil }
      return object.array(.numbers(try object.tableEntries()))
    }
  }
}

extension ArchivedObject {
  /// The elements of a collection: references in one array or, for old archivers and ordered sets, one field for each
  /// element.
  fileprivate func elements(
    _ key: String = "NS.objects", old prefix: String = "NS.object."
  ) throws(ArchiveError) -> ArchivedArray {
    guard let value = try self[key] else { return array(.numbers(try fields.numberedSequence(prefix))) }
    guard case .array(let elements) = value else { throw malformed("\(key) is not an array") }
    // Errors name this object as the holder, even if the list is an entry of its own.
    return array(elements.storage)
  }

  fileprivate func array(_ storage: ArchivedArray.Storage) -> ArchivedArray {
    ArchivedArray(graph: fields.graph, storage: storage, holder: uid, uid: uid)
  }

  /// The object numbers of the entries of a hash table or pointer array. The entries follow the options, which are
  /// numbers stored directly in fields, and precede a nil.
  fileprivate func tableEntries() throws(ArchiveError) -> [Int] {
    let graph = fields.graph
    var entries: [Int] = []
    var isOptions = true
    for number in try fields.numberedSequence("$") {
      let header = try graph.list.header(number)
      if isOptions, header.kind == .integer { continue }
      isOptions = false
      if try graph.reference(header) == 0 { return entries }
      entries.append(number)
    }
    throw malformed("the table doesn't end with nil")
  }
}

/// Each call makes a new object. Numbers, texts and bytes among the elements become objects.
extension ArchiveNode {
  /// An `NSArray`, or an object of another class that stores its elements in the same way, such as a mutable array or a
  /// set.
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
}

extension ArchiveNode.Value {
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
