import PropertyLists

/// The members of a counted set, and how often each occurs.
public struct ArchivedCountedSet: Sendable {
  /// The distinct members, in the order of the file.
  public let members: ArchivedArray
  /// How often each member occurs, in the same order.
  public let counts: [Int]
}

extension ArchivedValue {
  /// The elements of an array of the property list, or of an object derived from `NSArray`. Nils are kept.
  ///
  /// - Throws: `ArchiveError` with code `malformed` if elements are missing.
  public var array: ArchivedArray? {
    get throws(ArchiveError) {
      if case .array(let array) = self { return array }
      if let array = try oldStyleArray { return array }
      return try kind(of: "NSArray")?.elements()
    }
  }

  /// The members of an `NSSet`, in no meaningful order, or of an `NSOrderedSet`. Each member of an `NSCountedSet` is
  /// given once.
  ///
  /// - Throws: `ArchiveError` with code `malformed` if members are missing.
  public var set: ArchivedArray? {
    get throws(ArchiveError) {
      if let counted = try countedSet { return counted.members }
      if let ordered = try orderedSet { return ordered }
      return try kind(of: "NSSet")?.elements()
    }
  }

  /// The members of an `NSOrderedSet`.
  ///
  /// - Throws: `ArchiveError` with code `malformed` if members are missing.
  public var orderedSet: ArchivedArray? {
    get throws(ArchiveError) { try kind(of: "NSOrderedSet")?.elements() }
  }

  /// The members of an `NSCountedSet` and how often each occurs.
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
  /// - Throws: `ArchiveError` with code `malformed` if it doesn't have as many keys as values, or some are missing.
  public var dictionary: ArchivedDictionary? {
    get throws(ArchiveError) {
      if case .dictionary(let dictionary) = self { return dictionary }
      guard let object = kind(of: "NSDictionary") else { return nil }
      let keys = try object.elements("NS.keys", old: "NS.key.")
      let values = try object.elements("NS.objects", old: "NS.object.")
      guard keys.count == values.count else {
        throw object.malformed("the dictionary has \(keys.count) keys and \(values.count) values")
      }
      return ArchivedDictionary(
        graph: object.fields.graph, keys: keys.storage, values: values.storage, holder: object.uid,
        uid: object.uid)
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

  /// The pairs of an `NSMapTable`.
  ///
  /// - Throws: `ArchiveError` with code `malformed` if a key has no value, or entries are missing.
  public var mapTable: ArchivedDictionary? {
    get throws(ArchiveError) {
      guard let object = kind(of: "NSMapTable") else { return nil }
      let entries = try object.tableEntries()
      guard entries.count.isMultiple(of: 2) else {
        throw object.malformed("a key of the map table has no value")
      }
      let keys = stride(from: 0, to: entries.count, by: 2).map { entries[$0] }
      let values = stride(from: 1, to: entries.count, by: 2).map { entries[$0] }
      return ArchivedDictionary(
        graph: object.fields.graph, keys: .numbers(keys), values: .numbers(values), holder: object.uid,
        uid: object.uid)
    }
  }

  /// The elements of a C array, which `NSCoder` wraps in a separate object.
  ///
  /// - Throws: `ArchiveError` with code `malformed` if its count is wrong.
  private var oldStyleArray: ArchivedArray? {
    get throws(ArchiveError) {
      guard let object = kind(of: "_NSKeyedCoderOldStyleArray") else { return nil }
      // The count is only compared with the elements, never trusted: an archive of 274 bytes may claim 2⁴⁰.
      let elements = try object.unkeyedValues
      guard try object.integer("NS.count") == elements.count else {
        throw object.malformed("the array has \(elements.count) elements, not as many as it says")
      }
      return elements
    }
  }
}

extension ArchivedObject {
  /// The elements of a collection: references in one array or, for old archivers and ordered sets, one field for each
  /// element.
  func elements(_ key: String = "NS.objects", old prefix: String = "NS.object.") throws(ArchiveError)
    -> ArchivedArray
  {
    guard let value = try self[key] else { return array(.numbers(try fields.numberedSequence(prefix))) }
    guard case .array(let elements) = value else { throw malformed("\(key) is not an array") }
    // The holder is this object, not the entry that may hold the list.
    return array(elements.storage)
  }

  func array(_ storage: ArchivedArray.Storage) -> ArchivedArray {
    ArchivedArray(graph: fields.graph, storage: storage, holder: uid, uid: uid)
  }

  /// The object numbers of the entries of a hash table, map table or pointer array. They begin after the options, which
  /// are numbers stored directly in their fields, and end before a nil.
  func tableEntries() throws(ArchiveError) -> [Int] {
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
