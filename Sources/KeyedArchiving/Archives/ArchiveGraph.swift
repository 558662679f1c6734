import PropertyLists

/// The state that all values of one archive share: the object table, and the resolution of object numbers to values.
///
/// After `init`, only the cache of classes changes, under its own lock. No function is recursive: values refer to their
/// parts by number, so the depth and the cycles of a graph cost no stack.
final class ArchiveGraph: Sendable {
  let list: PropertyList
  let archiver: String
  let version: Int?
  let objects: References
  /// Whether a dictionary whose only key is `CF$UID` is a reference. This is so in XML, which has no UIDs, and in a
  /// binary archive that was converted from XML, for example by libplist's `plutil`. The latter has such a dictionary
  /// at its top, where archivers write references. In other binary archives, these dictionaries are ordinary values.
  private let hasUIDDictionaries: Bool
  private let topHeader: ObjectHeader
  private let classes: ClassTable

  init(_ list: PropertyList) throws(ArchiveError) {
    func refusal(_ reason: String) -> ArchiveError {
      ArchiveError(
        .notAnArchive, "the property list is not a keyed archive: \(reason)", path: list.bytes.path)
    }
    let top = try list.header(list.top)
    func member(_ key: String) throws(ArchiveError) -> PropertyListObject? {
      guard let number = try list.member(key, of: top) else { return nil }
      return try list.object(number)
    }
    guard top.kind == .dictionary else { throw refusal("its top is not a dictionary") }
    guard case .string(let archiver)? = try member("$archiver") else {
      throw refusal("it has no string $archiver")
    }
    guard case .array(let objects)? = try member("$objects") else {
      throw refusal("it has no array $objects")
    }
    guard let number = try list.member("$top", of: top) else { throw refusal("it has no $top") }
    let topHeader = try list.header(number)
    guard topHeader.kind == .dictionary else { throw refusal("its $top is not a dictionary") }
    if case .integer(let version)? = try member("$version") {
      self.version = Int(version)
    } else {
      version = nil
    }
    self.list = list
    self.archiver = archiver
    self.objects = objects
    self.topHeader = topHeader
    if let target = try Self.dictionaryTarget(topHeader, in: list), !target.kind.isCollection,
      target.kind != .uid
    {
      throw refusal("its $top is itself a reference, a dictionary with the key CF$UID")
    }
    var hasUIDDictionaries = list.format == .xml
    for index in 0..<topHeader.count {
      guard let value = try? list.header(list.reference(topHeader, topHeader.count + index)),
        let target = try? Self.dictionaryTarget(value, in: list)
      else { continue }
      guard target.kind == .integer else {
        throw refusal("a reference in its $top, a dictionary with the key CF$UID, has no integer")
      }
      hasUIDDictionaries = true
    }
    self.hasUIDDictionaries = hasUIDDictionaries
    classes = ClassTable(list)
  }

  var top: ArchivedFields { ArchivedFields(graph: self, header: topHeader, holder: nil) }

  /// The object of the property list that holds a value. The object is never a reference.
  struct Place {
    let number: Int
    let header: ObjectHeader
    /// The UID if the object is an entry of the object table; nil if the object is inside an entry.
    let uid: Int?
  }

  /// The place of the value of a field or an element, with references followed; nil if the value is nil.
  ///
  /// - Parameter holder: The UID of the object that the field belongs to, for errors.
  func place(of number: Int, holder: Int?) throws(ArchiveError) -> Place? {
    let header = try list.header(number)
    guard let uid = try reference(header) else { return Place(number: number, header: header, uid: nil) }
    return try place(ofEntry: uid, holder: holder)
  }

  private func place(ofEntry uid: UInt64, holder: Int?) throws(ArchiveError) -> Place? {
    if uid == 0 { return nil }
    let number = try number(ofEntry: uid, from: holder)
    let header = try list.header(number)
    if try list.isString(header, "$null") { return nil }
    guard try reference(header) == nil else {
      throw malformed("the entry of the object table is itself a reference", Int(uid))
    }
    return Place(number: number, header: header, uid: Int(uid))
  }

  /// The entry of the object table that a UID names.
  ///
  /// - Parameter holder: The UID of the object that refers to the entry, for errors.
  func entry(_ uid: UInt64, from holder: Int?) throws(ArchiveError) -> ArchivedValue {
    guard let place = try place(ofEntry: uid, holder: holder) else { return .null }
    return try value(at: place, holder: holder)
  }

  /// The value of a field or an element, from its object number in the property list, with references followed.
  func value(_ number: Int, holder: Int?) throws(ArchiveError) -> ArchivedValue {
    guard let place = try place(of: number, holder: holder) else { return .null }
    return try value(at: place, holder: holder)
  }

  func value(at place: Place, holder: Int?) throws(ArchiveError) -> ArchivedValue {
    guard let uid = place.uid else { return try plain(place.header, holder: holder, uid: nil) }
    guard let objectClass = try objectClass(of: place) else {
      return try plain(place.header, holder: uid, uid: uid)
    }
    return .object(
      ArchivedObject(
        uid: uid, objectClass: objectClass.description,
        fields: ArchivedFields(graph: self, header: place.header, holder: uid)))
  }

  func number(ofEntry uid: UInt64, from holder: Int?) throws(ArchiveError) -> Int {
    guard uid < UInt64(objects.count) else {
      throw ArchiveError(
        .danglingReference, "there is no entry \(uid) in the archive, which has \(objects.count)",
        object: holder, path: list.bytes.path)
    }
    return try objects.number(at: Int(uid))
  }

  /// The UID that an object of the property list represents; nil if the object is not a reference.
  func reference(_ header: ObjectHeader) throws(ArchiveError) -> UInt64? {
    if header.kind == .uid { return UInt64(try list.uid(header)) }
    return hasUIDDictionaries ? try Self.dictionaryUID(header, in: list) : nil
  }

  /// The UID in a dictionary whose only key is `CF$UID`; nil for other objects.
  private static func dictionaryUID(_ header: ObjectHeader, in list: PropertyList) throws(ArchiveError)
    -> UInt64?
  {
    guard let value = try dictionaryTarget(header, in: list), value.kind == .integer else { return nil }
    // A UID has 32 bits, so a negative or a larger integer can't name an entry.
    return UInt64(exactly: try list.integer(value)) ?? .max
  }

  private static func dictionaryTarget(_ header: ObjectHeader, in list: PropertyList) throws(ArchiveError)
    -> ObjectHeader?
  {
    guard header.kind == .dictionary, header.count == 1,
      try list.isString(list.header(list.reference(header, 0)), "CF$UID")
    else { return nil }
    return try list.header(list.reference(header, 1))
  }

  /// The class of an object, and the object number of the class's description; nil if the value is not an object.
  func objectClass(of place: Place) throws(ArchiveError) -> (number: Int, description: ArchivedClass)? {
    guard let uid = place.uid, place.header.kind == .dictionary,
      let number = try classes.place(in: place.header)
    else { return nil }
    guard let classUID = try reference(list.header(number)) else {
      throw malformed("$class of the object is not a reference", uid)
    }
    guard classUID > 0 else { throw malformed("$class of the object is nil", uid) }
    let entry = try self.number(ofEntry: classUID, from: uid)
    return (entry, try classes.description(at: entry, of: uid))
  }

  /// The UID that an object represents; nil if the object is not a reference, or the UID is too large for an `Int`.
  func referenceNumber(_ number: Int) throws(ArchiveError) -> Int? {
    try reference(list.header(number)).flatMap { Int(exactly: $0) }
  }

  private func plain(_ header: ObjectHeader, holder: Int?, uid: Int?) throws(ArchiveError) -> ArchivedValue {
    func array(_ references: References) -> ArchivedArray {
      ArchivedArray(graph: self, storage: .references(references), holder: holder, uid: uid)
    }
    switch try list.object(header) {
    case .null: return .null
    case .bool(let value): return .bool(value)
    case .integer(let value): return .integer(value)
    case .unsigned(let value): return .unsigned(value)
    case .real(let value): return .real(value)
    case .date(let seconds): return .date(seconds)
    case .string(let text): return .string(text)
    case .data(let range): return .data(try list.bytes.data(in: range))
    case .array(let elements), .set(let elements):
      return .array(array(elements))
    case .dictionary(let keys, let values):
      return .dictionary(ArchivedDictionary(keys: array(keys), allValues: array(values)))
    case .bigInteger:
      throw ArchiveError(
        .wrongType, "a number has more than 64 bits, which no archiver writes", offset: header.offset,
        object: holder, path: list.bytes.path)
    case .uid:
      throw malformed("the entry of the object table is itself a reference", holder)
    }
  }

  func malformed(_ message: String, _ uid: Int?) -> ArchiveError {
    ArchiveError(.malformed, message, object: uid, path: list.bytes.path)
  }

  /// Throws if a collection is too large to be decoded as a whole. The file can be small nevertheless, because many
  /// objects can share one long list.
  func checkCount(_ count: Int, holder: Int?) throws(ArchiveError) {
    guard count <= list.limits.valueCount else {
      throw ArchiveError(
        .limitExceeded, "a collection has \(count) values; the limit is \(list.limits.valueCount)",
        object: holder, path: list.bytes.path)
    }
  }
}
