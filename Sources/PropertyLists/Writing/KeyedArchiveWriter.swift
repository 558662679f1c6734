/// Writes a keyed archive from front to back, to a sink or, with KeyedArchiving, into memory. Writing millions of
/// objects to a sink takes little memory.
///
/// ```swift
/// let bytes = try KeyedArchiveWriter.bytes { (writer) throws(ArchiveError) in
///   let bug = try writer.shape(ArchivedClass("ScaryBugData"), keys: ["Title", "Rating"])
///   try writer.beginObject(bug)
///   try writer.append(string: "Potato Bug")
///   try writer.append(float: 4)
///   return .root(try writer.end())
/// }
/// ```
///
/// Each reference is an object with its own identity: two calls make two objects, even of equal content, and a
/// reference that is used twice names one object. The same calls give the same bytes in every process.
///
/// 1. Numbers in an object's fields are stored in the fields themselves, as `encodeInteger` stores them. In a
///    collection they are `NSNumber` objects.
/// 2. References, values and shapes must be used only with the writer that made them.
/// 3. After a call has thrown, the archive can't be finished.
///
/// For a few hundred objects, `ArchiveNode` is easier to use.
public struct KeyedArchiveWriter: ~Copyable {
  /// Takes the next bytes of the archive, about 64 KiB at a time. The bytes are valid only during the call.
  public typealias Sink = (UnsafeRawBufferPointer) throws(ArchiveError) -> Void

  /// The value of a field: a reference, or a value in the field itself.
  public struct Value: Hashable, Sendable {
    package let number: UInt32

    package init(number: UInt32) { self.number = number }
  }

  /// A reference to an object of the archive, which is written already or reserved.
  public struct Reference: Hashable, Sendable {
    /// The object's place in `$objects`.
    public let uid: UInt32
    /// The number, in the property list, of the UID that refers to the object.
    package let number: UInt32

    /// The reference as the value of a field.
    public var value: Value { Value(number: number) }
  }

  /// A class and the keys of its fields. With a prepared shape, writing an object costs little more than copying its
  /// references.
  public struct Shape: Hashable, Sendable {
    let index: Int
  }

  /// The values at the top of the archive, by name.
  public struct Top: ExpressibleByDictionaryLiteral, Sendable {
    let members: [(key: String, value: Value)]
    /// The values without a name, which become `$0`, `$1` and so on.
    package var unkeyed: [Value] = []

    /// Values under the names that a reader looks for, as an archiver's `encode(_:forKey:)` writes them.
    public init(dictionaryLiteral elements: (String, Value)...) {
      members = elements.map { (key: $0.0, value: $0.1) }
    }

    /// Values under names that are known only at run time.
    public init(_ members: [(key: String, value: Value)]) { self.members = members }

    /// One object under the name `root`, as `archivedData(withRootObject:)` writes it.
    public static func root(_ reference: Reference) -> Top { ["root": reference.value] }
  }

  /// The name of Foundation's archiver.
  public static let standardArchiver = "NSKeyedArchiver"

  /// The class that the archive names as its archiver: ``standardArchiver``, or an app's own subclass if it is set here
  /// before the archive is finished.
  public var archiver = standardArchiver

  package var list: BinaryPropertyListWriter
  private var entries = ArchiveEntries()
  var shapes: [PreparedShape] = []
  var frames: [Frame] = []
  var pending: [UInt32] = []
  private var classes: [ArchivedClass: Reference] = [:]
  private var keys: [ExactString: Int] = [:]
  var known = KnownValues()

  /// Begins an archive that is written to a sink.
  ///
  /// - Parameter sink: called by the functions of the writer, which rethrow its errors.
  public init(to sink: @escaping Sink) throws(ArchiveError) {
    unsafe try self.init(maximumObjectCount: Int(UInt32.max), to: sink)
  }

  /// - Parameter maximumObjectCount: the limit on objects of the property list, which has about three for each string.
  package init(maximumObjectCount: Int, to sink: @escaping Sink) throws(ArchiveError) {
    unsafe list = BinaryPropertyListWriter(maximumObjectCount: maximumObjectCount, to: sink)
    // The first entry means nil; UID 0 refers to it.
    _ = try entries.append(self.list.string(nilMarker))
    known.null = try Value(number: UInt32(self.list.uid(0)))
  }

  /// Ends the archive with `$top`, `$objects` and the table of offsets.
  ///
  /// - Throws: what the sink throws; ``ArchiveError/Code/danglingReference`` if an object was reserved but not defined;
  ///   ``ArchiveError/Code/unencodable`` if an object was begun but not ended.
  public consuming func finish(_ top: Top) throws(ArchiveError) {
    let number = try writeTop(top)
    try list.finish(top: number)
  }

  private mutating func writeTop(_ top: Top) throws(ArchiveError) -> Int {
    guard frames.isEmpty else {
      throw ArchiveError(.unencodable, "an object was begun but not ended; the archive can't be finished")
    }
    let topKeys = try keyNumbers(
      top.members.map { escaped($0.key) } + top.unkeyed.indices.map { "$\($0)" })
    let topValues = top.members.map(\.value) + top.unkeyed
    let topNumber = try list.dictionary(keys: topKeys, values: topValues.map { Int($0.number) })
    let version = try list.integer(100_000)
    let archiver = try list.string(self.archiver)
    let names = try keyNumbers(["$version", "$archiver", "$top", "$objects"])
    let start = try list.begin(10)
    list.output.putMarker(0xA0, count: entries.count)
    try entries.visit { (number) throws(ArchiveError) in
      try list.output.makeRoom(4)
      list.putReference(number)
    }
    let objects = try list.end(start)
    return try list.dictionary(keys: names, values: [version, archiver, topNumber, objects])
  }

  /// How many bytes were written so far: the offset of the next object in the file.
  package var byteCount: Int { list.output.position }

  // MARK: - Entries

  /// Adds an object of the property list to `$objects`.
  @inline(__always)
  mutating func entry(_ number: Int) throws(ArchiveError) -> Reference {
    let uid = try entries.append(number)
    return Reference(uid: uid, number: UInt32(truncatingIfNeeded: try list.uid(uid)))
  }

  /// Makes a reference to an object that is written later, for objects that refer to each other.
  package mutating func reserve() throws(ArchiveError) -> Reference {
    let uid = try entries.reserve()
    return try Reference(uid: uid, number: UInt32(list.uid(uid)))
  }

  package mutating func define(_ reference: Reference, as number: Int) throws(ArchiveError) {
    try entries.define(reference.uid, as: number)
  }

  // MARK: - Shapes

  /// Prepares a class and the keys of its fields. A key that begins with `$` is written with a second `$`, as in
  /// Foundation.
  ///
  /// - Parameters:
  ///   - archivedClass: the class that a reader looks for.
  ///   - keys: in the order in which the values will be appended.
  /// - Throws: ``ArchiveError/Code/unencodable`` if a key occurs twice; what the sink throws.
  public mutating func shape(
    _ archivedClass: ArchivedClass, keys: [String]
  ) throws(ArchiveError) -> Shape {
    let numbers = try keyNumbers(["$class"] + keys.map(escaped))
    let classNumber = try Int(reference(to: archivedClass).number)
    shapes.append(
      PreparedShape(
        name: archivedClass.name, fieldCount: keys.count,
        head: list.dictionaryHead(keys: numbers, firstValue: classNumber)))
    return Shape(index: shapes.count - 1)
  }

  /// A reference to the class's description in `$objects`, which is written when it is first needed.
  package mutating func reference(to archivedClass: ArchivedClass) throws(ArchiveError) -> Reference {
    if let reference = classes[archivedClass] { return reference }
    var names = ["$classname"]
    var values = try [list.string(archivedClass.name)]
    if !archivedClass.chain.isEmpty {
      names.append("$classes")
      try values.append(strings(archivedClass.chain))
    }
    if !archivedClass.hints.isEmpty {
      names.append("$classhints")
      try values.append(strings(archivedClass.hints))
    }
    let reference = try entry(list.dictionary(keys: keyNumbers(names), values: values))
    classes[archivedClass] = reference
    return reference
  }

  private mutating func strings(_ texts: [String]) throws(ArchiveError) -> Int {
    var numbers: [Int] = []
    for text in texts { try numbers.append(list.string(text)) }
    return try list.array(numbers)
  }

  /// The object numbers of keys. Each key is written once in the archive.
  package mutating func keyNumbers(_ texts: [String]) throws(ArchiveError) -> [Int] {
    var numbers: [Int] = []
    for text in texts {
      let key = ExactString(text)
      let number: Int
      if let written = keys[key] {
        number = written
      } else {
        number = try list.string(text)
        keys[key] = number
      }
      numbers.append(number)
    }
    guard areDistinct(numbers) else {
      throw ArchiveError(
        .unencodable, "a key occurs twice among the fields \(texts.joined(separator: ", ")) of one object")
    }
    return numbers
  }
}

/// The text that readers interpret as nil. Only the first entry of `$objects` is this text.
package let nilMarker = "$null"

/// The form in which a user's key is written: a key that begins with `$`, as the archiver's own keys do, gets another.
package func escaped(_ key: String) -> String {
  key.utf8.first == UInt8(ascii: "$") ? "$" + key : key
}

private func areDistinct(_ numbers: [Int]) -> Bool {
  guard numbers.count <= 24 else { return Set(numbers).count == numbers.count }
  // A set would take longer than these few comparisons.
  for (index, number) in numbers.enumerated() where numbers[..<index].contains(number) { return false }
  return true
}

/// The facts that all objects of a shape share.
struct PreparedShape {
  let name: String
  let fieldCount: Int
  /// The bytes of the object's dictionary up to and including the class, which is its first value. The values of the
  /// fields follow.
  let head: [UInt8]
}

struct Frame {
  enum Kind {
    case object
    case list
    case pairs
  }
  let kind: Kind
  let shape: Int
  /// The index in `pending` of the first value of this object or collection.
  let base: Int
}
