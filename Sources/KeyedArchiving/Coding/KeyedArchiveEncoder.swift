public import Foundation
public import PropertyLists

/// Encodes `Encodable` values as archives of classes with `NSCoding`, so that apps with those classes can read them.
///
/// ```swift
/// struct Bug: Codable { var title: String; var rating: Float }
/// var encoder = KeyedArchiveEncoder()
/// encoder.name(Bug.self, ArchivedClass("ScaryBugData"), keys: ["title": "Title", "rating": "Rating"])
/// let data = try encoder.encode(Bug(title: "Potato Bug", rating: 4), forKey: "Data")
/// ```
///
/// - A type with a class set by ``name(_:_:keys:)`` becomes an object of that class, with numbers and booleans stored
///   directly in its fields. Any other type with keys becomes an `NSDictionary`, with its keys sorted by their bytes.
/// - Arrays become `NSArray`, sets `NSSet`, dictionaries `NSDictionary`. Sets, and dictionaries whose keys are neither
///   strings nor integers, are sorted by their encoded bytes, because Swift orders them differently in each process.
/// - `Date`, `Data`, `URL`, `UUID`, `Decimal`, `IndexPath` and `IndexSet` become Foundation's objects. A string becomes
///   an `NSString`, a `Float` a number of four bytes.
/// - nil in a field becomes UID 0, as `encode(nil, forKey:)` writes it. If the field is for a number, its key is
///   omitted instead. nil in a collection becomes `NSNull`.
/// - A superclass that encodes itself with `superEncoder()` adds its fields to the same object.
/// - An instance of a class is encoded each time that it occurs, like a struct, and must not contain itself. For graphs
///   of objects, use ``ArchiveNode``.
///
/// Values may be nested 128 deep. Equal values give equal bytes in every process. ``KeyedArchiveDecoder`` decodes the
/// bytes to the same values, but refuses dates that are NaN or more than 100,000 years from 2001.
public struct KeyedArchiveEncoder {
  /// The class and the keys that a type has in the archive.
  struct Naming {
    let archivedClass: ArchivedClass
    private let keys: [ExactString: String]

    init(_ archivedClass: ArchivedClass, keys: [String: String]) {
      self.archivedClass = archivedClass
      self.keys = Dictionary(keys.map { (ExactString($0.key), $0.value) }) { first, _ in first }
    }

    func key(for key: any CodingKey) -> String { keys[ExactString(key.stringValue)] ?? key.stringValue }
  }

  /// How deeply values may be nested. `Codable` encodes recursively, so a chain of thousands of values would overflow
  /// the stack and end the process.
  static let depth = 128

  private var namings: [ObjectIdentifier: Naming] = [:]

  /// An encoder that writes all types as dictionaries until they are named.
  public init() {}

  /// Sets the class that the values of a type are written as.
  ///
  /// - Parameters:
  ///   - type: the Swift type.
  ///   - archivedClass: the class that a reader looks for.
  ///   - keys: the archive's key for each coding key that has another name there.
  public mutating func name<T: Encodable>(
    _ type: T.Type, _ archivedClass: ArchivedClass, keys: [String: String] = [:]
  ) {
    namings[ObjectIdentifier(type)] = Naming(archivedClass, keys: keys)
  }

  /// Encodes a value as an archive.
  ///
  /// - Parameters:
  ///   - value: what to encode.
  ///   - key: the name that a reader asks for. `unarchivedObject(ofClass:from:)` asks for `root`.
  /// - Throws: what the value throws while it encodes itself; `EncodingError` if it encodes nothing, contains itself
  ///   or is nested too deeply; `ArchiveError` if the archive can't be written.
  public func encode<T: Encodable>(_ value: T, forKey key: String = "root") throws -> Data {
    let session = EncodingSession(configuration: self)
    let encoded = try session.encode(value, at: [])
    try session.close()
    // Values at the top are objects, as `encodeObject` writes them.
    return try Data(ArchiveNode.archive([(key, encoded.boxed)]))
  }

  func naming(of type: (any Any.Type)?) -> Naming? { type.flatMap { namings[ObjectIdentifier($0)] } }
}
