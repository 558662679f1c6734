/// Decodes values of `Decodable` types from archived objects of any classes.
///
/// A struct whose coding keys are the keys that the `encode(with:)` of an old class used reads that class's archives.
/// Where versions of an app used other keys for one property, `name(_:keys:)` gives them all:
///
/// ```swift
/// struct PointOfInterest: Decodable { var name: String; var note: String?; var category: Catalog.Category? }
///
/// var decoder = KeyedArchiveDecoder()
/// decoder.name(PointOfInterest.self, keys: ["name": ["locationName", "placeName"]])
/// let places = try decoder.decode([PointOfInterest].self, from: archive)
/// ```
///
/// Arrays are read from `NSArray`, sets and ordered sets; dictionaries from `NSDictionary`, whatever their keys;
/// `Date`, `Data`, `URL`, `UUID`, `Decimal`, `IndexPath`, `IndexSet`, `CGPoint`, `CGSize` and `CGRect` from their
/// Foundation classes. An ``ArchivedValue`` property gets the value unchanged, including its class. A `Decodable` class
/// that calls `superDecoder()` finds its superclass's fields in the same object, as `NSCoding` has them.
///
/// Values have no identity: an object that is referred to twice is decoded twice, and one that can be reached from
/// itself is refused when ``depth`` is reached. How many values a decoding may make, and how much text and data, grows
/// with the size of the archive; a small one whose objects are shared again and again is refused. For such graphs there
/// is ``KeyedArchive``.
public struct KeyedArchiveDecoder: Sendable {
  private var namings: [ObjectIdentifier: [String: [String]]] = [:]

  /// How deeply objects may be nested. By default 128.
  public var depth = 128

  /// A decoder that takes coding keys for the names of fields.
  public init() {}

  /// Sets the keys of a type's fields in archives.
  ///
  /// - Parameters:
  ///   - type: The Swift type.
  ///   - keys: The archive's keys for each coding key that is called otherwise, of which the first that is there is
  ///     taken. One that may be called as the coding key too is to be listed.
  public mutating func name<T: Decodable>(_ type: T.Type, keys: [String: [String]]) {
    namings[ObjectIdentifier(type)] = keys
  }

  /// Sets the keys of a type's fields in archives, in the form that ``KeyedArchiveEncoder`` takes.
  public mutating func name<T: Decodable>(_ type: T.Type, keys: [String: String]) {
    name(type, keys: keys.mapValues { [$0] })
  }

  /// Decodes the root of an archive.
  ///
  /// - Throws: `DecodingError` with the coding path. If the archive itself is broken there, its underlying error is an
  ///   ``ArchiveError``.
  public func decode<T: Decodable>(_ type: T.Type, from archive: KeyedArchive) throws -> T {
    guard let root = try archive.root else {
      throw DecodingError.valueNotFound(
        type, DecodingError.Context(codingPath: [], debugDescription: "The archive has no root"))
    }
    return try decode(type, from: root)
  }

  /// Decodes a value of an archive.
  ///
  /// - Throws: `DecodingError` with the coding path. If the archive itself is broken there, its underlying error is an
  ///   ``ArchiveError``.
  public func decode<T: Decodable>(_ type: T.Type, from value: ArchivedValue) throws -> T {
    let graph: ArchiveGraph? =
      switch value {
      case .object(let object): object.fields.graph
      case .array(let array): array.graph
      case .dictionary(let dictionary): dictionary.graph
      default: nil
      }
    let state = DecodingState(namings: namings, depth: depth, graph: graph)
    return try ArchivedValueDecoder(value: value, codingPath: [], state: state).decode(type)
  }

  /// Decodes a type whose fields are the values at the top of an archive, as an app writes them with several calls of
  /// `encode(_:forKey:)` on one archiver.
  ///
  /// - Throws: As ``decode(_:from:)-(_,KeyedArchive)``.
  public func decodeTop<T: Decodable>(_ type: T.Type, of archive: KeyedArchive) throws -> T {
    let state = DecodingState(namings: namings, depth: depth, graph: archive.graph)
    var decoder = ArchivedValueDecoder(value: .null, codingPath: [], state: state)
    decoder.topFields = archive.graph.top
    decoder.keys = namings[ObjectIdentifier(type)]
    return try T(from: decoder)
  }
}

/// What the decoders of one call share.
final class DecodingState {
  let namings: [ObjectIdentifier: [String: [String]]]
  let depth: Int
  /// The archive that is being decoded; nil for a value without one.
  let graph: ArchiveGraph?
  private var contents: SharedContents?
  /// A small archive can refer to one object from many places, each of which decodes it anew. A sound one has a few
  /// values for each byte at most.
  private var valuesLeft: Int
  private var bytesLeft: Int

  init(namings: [ObjectIdentifier: [String: [String]]], depth: Int, graph: ArchiveGraph?) {
    self.namings = namings
    self.depth = depth
    self.graph = graph
    contents = graph.map { SharedContents($0) }
    let byteCount = graph?.list.bytes.count ?? 0
    let limits = graph?.list.limits ?? ArchiveLimits()
    valuesLeft = min(limits.valueCount, 2 * byteCount + 1 << 16)
    bytesLeft = 32 * byteCount + 1 << 20
  }

  /// The object of the property list with a number, references followed.
  func value(_ number: Int, in graph: ArchiveGraph, holder: Int?) throws(ArchiveError) -> ArchivedValue {
    guard graph === self.graph else { return try graph.value(number, holder: holder) }
    return try contents?.value(number, holder: holder) ?? .null
  }

  /// A value of an archived dictionary.
  func value(at position: Int, of dictionary: ArchivedDictionary) throws(ArchiveError) -> ArchivedValue {
    guard var contents else { return try dictionary.value(at: position) }
    self.contents = nil
    defer { self.contents = contents }
    return try dictionary.value(at: position, &contents)
  }

  /// A key of an archived dictionary.
  func key(at position: Int, of dictionary: ArchivedDictionary) throws(ArchiveError) -> ArchivedValue {
    guard var contents else { return try dictionary.key(at: position) }
    self.contents = nil
    defer { self.contents = contents }
    return try dictionary.key(at: position, &contents)
  }

  /// Checks that text or data of a size may be kept. What stands in the archive plainly shares its memory with all
  /// that refer to it; what objects hold does not.
  func charge(bytes: Int, of value: ArchivedValue, _ codingPath: [any CodingKey]) throws {
    guard case .object = value else { return }
    bytesLeft -= bytes
    guard bytesLeft >= 0 else {
      throw corrupted(
        codingPath,
        ArchiveError(
          .limitExceeded, "The archive's text and data are shared so often that they grow too large"))
    }
  }

  /// Makes sure that fields or pairs may be looked at.
  func charge(count: Int, _ codingPath: [any CodingKey]) throws {
    valuesLeft -= count
    guard valuesLeft >= 0 else {
      throw corrupted(
        codingPath,
        ArchiveError(
          .limitExceeded, "The archive's objects are shared so often that it makes too many values"))
    }
  }

  /// Makes sure that one more value may be decoded at a place.
  func charge(_ codingPath: [any CodingKey]) throws {
    try charge(count: 1, codingPath)
    guard codingPath.count <= depth else {
      throw corrupted(
        codingPath,
        ArchiveError(
          .limitExceeded, "Objects stand inside each other more than \(depth) deep, or inside themselves"))
    }
  }
}

/// The error of `Decodable` for something that the archive has not right.
func corrupted(_ codingPath: [any CodingKey], _ error: ArchiveError) -> DecodingError {
  .dataCorrupted(
    DecodingError.Context(
      codingPath: codingPath, debugDescription: error.description, underlyingError: error))
}

/// Runs a read of the archive and puts the coding path to its error.
func reading<T>(_ codingPath: [any CodingKey], _ body: () throws(ArchiveError) -> T) throws(DecodingError)
  -> T
{
  do throws(ArchiveError) {
    return try body()
  } catch {
    throw corrupted(codingPath, error)
  }
}

/// A step of a coding path.
struct ArchivedKey: CodingKey {
  let stringValue: String
  let intValue: Int?

  init(stringValue: String) { (self.stringValue, intValue) = (stringValue, Int(stringValue)) }
  init(intValue: Int) { (stringValue, self.intValue) = (String(intValue), intValue) }
}
