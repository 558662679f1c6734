import PropertyLists

/// Decodes values of `Decodable` types from archived objects of any classes.
///
/// A struct reads the archives of an old class if its coding keys are the keys that the class used in `encode(with:)`.
/// If versions of an app used different keys for one property, list them with `name(_:keys:)`:
///
/// ```swift
/// struct PointOfInterest: Decodable { var name: String; var note: String?; var category: Catalog.Category? }
///
/// var decoder = KeyedArchiveDecoder()
/// decoder.name(PointOfInterest.self, keys: ["name": ["locationName", "placeName"]])
/// let places = try decoder.decode([PointOfInterest].self, from: archive)
/// ```
///
/// Arrays are read from `NSArray`, sets and ordered sets, and dictionaries from `NSDictionary` with keys of any type.
/// `Date`, `Data`, `URL`, `UUID`, `Decimal`, `IndexPath` and `IndexSet` are read from their Foundation classes. An
/// ``ArchivedValue`` property gets the value unchanged, including its class. A `Decodable` class that calls
/// `superDecoder()` finds its superclass's fields in the same object, as `NSCoding` stores them.
///
/// A number is decoded as any numeric type that it fits, rounded to the nearest `Double` or `Float`. A number that does
/// not fit is an error, and so is a date that is NaN or more than 100,000 years from 2001.
///
/// Values have no identity: an object that is referred to twice is decoded twice, and an object that can be reached
/// from itself is refused when ``depth`` is reached. The size of the archive limits how many values, and how much text
/// and data, a decoding may produce. So a small archive whose objects are shared very often is refused; read such
/// graphs with ``KeyedArchive``.
public struct KeyedArchiveDecoder: Sendable {
  private var namings: [ObjectIdentifier: [String: [String]]] = [:]

  /// How deeply objects may be nested. By default 128.
  public var depth = 128

  /// A decoder that uses coding keys as the names of fields.
  public init() {}

  /// Sets the keys of a type's fields in archives.
  ///
  /// - Parameters:
  ///   - type: The Swift type.
  ///   - keys: For each coding key with another name in archives, the archive's keys. The first one that an object has
  ///     is used. If archives may also use the coding key itself, list it too.
  public mutating func name<T: Decodable>(_ type: T.Type, keys: [String: [String]]) {
    namings[ObjectIdentifier(type)] = keys
  }

  /// Sets the keys of a type's fields in archives, one for each coding key, in the form that ``KeyedArchiveEncoder``
  /// takes.
  public mutating func name<T: Decodable>(_ type: T.Type, keys: [String: String]) {
    name(type, keys: keys.mapValues { [$0] })
  }

  /// Decodes the root of an archive.
  ///
  /// - Throws: `ArchiveError` if the root can't be read. Otherwise `DecodingError` with the coding path, and with an
  ///   `ArchiveError` as its underlying error if the archive is broken at that path.
  public func decode<T: Decodable>(_ type: T.Type, from archive: KeyedArchive) throws -> T {
    guard let root = try archive.root else {
      throw DecodingError.valueNotFound(
        type, DecodingError.Context(codingPath: [], debugDescription: "The archive has no root"))
    }
    return try decode(type, from: root)
  }

  /// Decodes a value of an archive.
  ///
  /// - Throws: `DecodingError` with the coding path, and with an `ArchiveError` as its underlying error if the archive
  ///   is broken at that path.
  public func decode<T: Decodable>(_ type: T.Type, from value: ArchivedValue) throws -> T {
    let graph: ArchiveGraph? =
      switch value {
      case .object(let object): object.fields.graph
      case .array(let array): array.graph
      case .dictionary(let dictionary): dictionary.keys.graph
      default: nil
      }
    let state = DecodingState(namings: namings, depth: depth, graph: graph)
    return try ArchivedValueDecoder(value: value, codingPath: [], state: state).decode(type)
  }
}

/// The state that all decoders share during one call of `decode`.
final class DecodingState {
  let namings: [ObjectIdentifier: [String: [String]]]
  let depth: Int
  /// The archive that is being decoded; nil for a value without one.
  let graph: ArchiveGraph?
  private var contents: SharedContents?
  /// How many more values may be decoded. A small archive can refer to one object from many places, each of which
  /// decodes it again. A sound archive has at most a few values for each byte.
  private var valuesLeft: Int
  private var bytesLeft: Int

  init(namings: [ObjectIdentifier: [String: [String]]], depth: Int, graph: ArchiveGraph?) {
    self.namings = namings
    self.depth = depth
    self.graph = graph
    contents = graph.map { SharedContents($0) }
    let byteCount = graph?.list.bytes.count ?? 0
    let limits = graph?.list.limits ?? ArchiveLimits()
    valuesLeft = min(limits.valueCount, 16 * byteCount + 1 << 16)
    bytesLeft = 32 * byteCount + 1 << 20
  }

  /// The value of the object with a number in the property list, with references followed.
  func value(_ number: Int, in graph: ArchiveGraph, holder: Int?) throws(ArchiveError) -> ArchivedValue {
    guard graph === self.graph else { return try graph.value(number, holder: holder) }
    return try contents?.value(number, holder: holder) ?? .null
  }

  /// Checks that text or data of this size may be read.
  func charge(bytes: Int, _ codingPath: [any CodingKey]) throws {
    bytesLeft -= bytes
    if bytesLeft < 0 {
      throw exceeded("the archive's text and data are shared so often that they grow too large", codingPath)
    }
  }

  /// Checks that this many fields or pairs may be visited.
  func charge(count: Int, _ codingPath: [any CodingKey]) throws {
    valuesLeft -= count
    if valuesLeft < 0 {
      throw exceeded(
        "the archive's objects are shared so often that they decode to too many values", codingPath)
    }
  }

  /// Checks that a value may be nested this deeply.
  func check(depth codingPath: [any CodingKey]) throws {
    if codingPath.count > depth {
      throw exceeded("objects are nested more than \(depth) deep, or contain themselves", codingPath)
    }
  }

  private func exceeded(_ message: String, _ codingPath: [any CodingKey]) -> DecodingError {
    corrupted(codingPath, ArchiveError(.limitExceeded, message))
  }
}

func corrupted(_ codingPath: [any CodingKey], _ error: ArchiveError) -> DecodingError {
  .dataCorrupted(
    DecodingError.Context(
      codingPath: codingPath, debugDescription: error.description, underlyingError: error))
}

/// Reads from the archive, and adds the coding path to an error.
func reading<T>(_ codingPath: [any CodingKey], _ body: () throws(ArchiveError) -> T) throws(DecodingError)
  -> T
{
  do throws(ArchiveError) {
    return try body()
  } catch {
    throw corrupted(codingPath, error)
  }
}
