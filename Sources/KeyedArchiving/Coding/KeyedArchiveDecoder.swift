/// Makes values of `Decodable` types out of archived objects, whatever classes they were archived from.
///
/// A struct whose coding keys are the keys that the `encode(with:)` of an old class used reads that class's archives.
/// Where versions of an app used other keys for one property, `name(_:keys:)` gives them all:
///
/// ```swift
/// struct PointOfInterest: Decodable { var name: String; var note: String?; var category: Category? }
///
/// var decoder = KeyedArchiveDecoder()
/// decoder.name(PointOfInterest.self, keys: ["name": ["locationName", "placeName"]])
/// let places = try decoder.decode([PointOfInterest].self, from: archive)
/// ```
///
/// Arrays are read from `NSArray`, sets and ordered sets; dictionaries from `NSDictionary` with strings or integers as
/// keys; `Date`, `Data`, `URL`, `UUID`, `Decimal`, `IndexPath`, `IndexSet`, `CGPoint`, `CGSize` and `CGRect` from their
/// Foundation classes. An ``ArchivedValue`` property takes the value as it is, class and all. A `Decodable` class that
/// calls `superDecoder()` finds its superclass's fields in the same object, as `NSCoding` has them.
///
/// Values have no identity: an object that is referred to twice is decoded twice, and one that can be reached from
/// itself is refused when ``depth`` is reached. For such graphs there is ``KeyedArchive``.
public struct KeyedArchiveDecoder: Sendable {
  private var namings: [ObjectIdentifier: [String: [String]]] = [:]

  /// How many objects may stand inside each other, on the way to a value. By default 128.
  public var depth = 128

  /// A decoder that takes coding keys for the names of fields.
  public init() {}

  /// Says under which keys the fields of a type stand in archives.
  ///
  /// - Parameters:
  ///   - type: The Swift type.
  ///   - keys: The archive's keys for each coding key that is called otherwise, of which the first that is there is
  ///     taken. One that may be called as the coding key too is to be listed.
  public mutating func name<T: Decodable>(_ type: T.Type, keys: [String: [String]]) {
    namings[ObjectIdentifier(type)] = keys
  }

  /// Says under which keys the fields of a type stand in archives, in the form that ``KeyedArchiveEncoder`` takes.
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
    let limits: ArchiveLimits
    switch value {
    case .object(let object): limits = object.fields.graph.list.limits
    case .array(let array): limits = array.graph.list.limits
    case .dictionary(let dictionary): limits = dictionary.graph.list.limits
    default: limits = ArchiveLimits()
    }
    let state = DecodingState(namings: namings, depth: depth, limits: limits)
    return try ArchivedValueDecoder(value: value, codingPath: [], state: state).decode(type)
  }
}

/// What the decoders of one call share.
final class DecodingState {
  let namings: [ObjectIdentifier: [String: [String]]]
  let depth: Int
  /// A small archive can refer to one object from many places, each of which decodes it anew.
  private var valuesLeft: Int
  private var bytesLeft: Int

  init(namings: [ObjectIdentifier: [String: [String]]], depth: Int, limits: ArchiveLimits) {
    self.namings = namings
    self.depth = depth
    valuesLeft = limits.valueCount
    bytesLeft = limits.byteCount
  }

  /// Makes sure that text or data of a size may be kept.
  func charge(bytes: Int, _ codingPath: [any CodingKey]) throws {
    bytesLeft -= bytes
    guard bytesLeft >= 0 else {
      throw corrupted(codingPath, ArchiveError(.limitExceeded, "The archive makes too much text and data"))
    }
  }

  /// Makes sure that one more value may be decoded at a place.
  func charge(_ codingPath: [any CodingKey]) throws {
    valuesLeft -= 1
    guard valuesLeft >= 0 else {
      throw corrupted(codingPath, ArchiveError(.limitExceeded, "The archive makes too many values"))
    }
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
