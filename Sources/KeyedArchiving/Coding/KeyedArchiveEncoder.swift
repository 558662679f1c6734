public import Foundation

/// Encodes `Encodable` values as the archives of classes that code themselves with keys, so that an app with those
/// classes reads them.
///
/// ```swift
/// struct Bug: Codable { var title: String; var rating: Float }
/// var encoder = KeyedArchiveEncoder()
/// encoder.name(Bug.self, ArchivedClass("ScaryBugData"), keys: ["title": "Title", "rating": "Rating"])
/// let data = try encoder.encode(Bug(title: "Potato Bug", rating: 4), forKey: "Data")
/// ```
///
/// - A type with a name becomes an object of that class; numbers and booleans stand in its fields. Another type with
///   keys becomes an `NSDictionary`, its keys in the order of their bytes.
/// - Arrays become `NSArray`, sets `NSSet`, dictionaries `NSDictionary`. Sets, and dictionaries whose keys are not
///   strings or integers, stand in the order of their encoded bytes, as Swift keeps them in another order each
///   time.
/// - `Date`, `Data`, `URL`, `UUID`, `Decimal`, `IndexPath` and `IndexSet` become Foundation's objects; text becomes an
///   `NSString`, a `Float` a number of four bytes. `CGPoint`, `CGSize` and `CGRect` become texts in fields, as
///   `encodeCGPoint` writes them, and elsewhere `NSValue` objects.
/// - nil in a field becomes UID 0, as `encode(nil, forKey:)` writes it; where a number would stand in the field, the
///   key is left out. nil in a collection becomes `NSNull`.
/// - A superclass that encodes itself with `superEncoder()` adds its fields to the same object.
/// - An instance of a class is one object however often it is met, and may hold itself.
///
/// Equal values give equal bytes, in every process, unless elements of a set are alike in the first 512 objects that
/// they reach. ``KeyedArchiveDecoder`` makes the same values of them again.
public struct KeyedArchiveEncoder {
  /// What a type is called in the archive.
  public struct Naming: Sendable {
    let archivedClass: ArchivedClass
    private let keys: [ExactString: String]

    /// - Parameters:
    ///   - archivedClass: the class that a reader will look for.
    ///   - keys: the archive's key for each coding key that is called otherwise.
    public init(_ archivedClass: ArchivedClass, keys: [String: String] = [:]) {
      self.archivedClass = archivedClass
      self.keys = Dictionary(keys.map { (ExactString($0.key), $0.value) }) { first, _ in first }
    }

    func key(for key: any CodingKey) -> String { keys[ExactString(key.stringValue)] ?? key.stringValue }
  }

  /// Values for the types that encode themselves, as in Foundation's encoders.
  public var userInfo: [CodingUserInfoKey: any Sendable] = [:]

  /// Asked for the class of a type that ``name(_:_:keys:)`` was not called for. If it returns nil, a value with keys
  /// becomes a dictionary.
  ///
  /// It gets the type, which is nil for containers that a type nests in its own, and the coding path.
  public var nameOthers: (((any Any.Type)?, [any CodingKey]) -> Naming?)?

  /// The class of the archiver that the archive names, for readers that require an app's own subclass.
  public var archiver = KeyedArchiveWriter.standardArchiver

  /// How deeply values may be nested. By default 128, as in ``KeyedArchiveDecoder``.
  ///
  /// `Codable` encodes by recursion, so a chain of thousands would end the process.
  public var depth = 128

  private var namings: [ObjectIdentifier: Naming] = [:]

  /// An encoder that writes all types as dictionaries, until they are named.
  public init() {}

  /// Sets the class as which the values of a type are written.
  ///
  /// - Parameters:
  ///   - type: the Swift type.
  ///   - archivedClass: the class that a reader will look for.
  ///   - keys: the archive's key for each coding key that is called otherwise.
  public mutating func name<T: Encodable>(
    _ type: T.Type, _ archivedClass: ArchivedClass, keys: [String: String] = [:]
  ) {
    namings[ObjectIdentifier(type)] = Naming(archivedClass, keys: keys)
  }

  /// The archive of a value.
  ///
  /// - Parameters:
  ///   - value: what to encode.
  ///   - key: the name that a reader asks for; `root` is the one that `unarchivedObject(ofClass:from:)` does.
  /// - Throws: what the value throws while it encodes itself; `EncodingError` if it encodes nothing or is nested
  ///   deeper than ``depth``; ``ArchiveError`` if the archive can't be written.
  public func encode<T: Encodable>(_ value: T, forKey key: String = "root") throws -> Data {
    try Data(ArchiveNode.archive([(key, node(value))], archiver: archiver))
  }

  /// An archive in which the fields of a value are what a reader asks for first, as an app writes it that calls
  /// `encode(_:forKey:)` on one archiver for each of its properties.
  ///
  /// - Parameter value: of a type that encodes itself with keys; a name that it has gives the keys, and its class is
  ///   not written.
  /// - Throws: as ``encode(_:forKey:)`` does, and `EncodingError` if the value encodes itself without keys.
  public func encodeTop<T: Encodable>(_ value: T) throws -> Data {
    let session = EncodingSession(configuration: self)
    let top = try session.encodeTop(value)
    try session.close()
    return try Data(ArchiveNode.archive(top.fields, archiver: archiver))
  }

  /// A value as a part of a graph, to be archived together with others.
  ///
  /// - Throws: what the value throws while it encodes itself; `EncodingError` if it encodes nothing.
  public func node<T: Encodable>(_ value: T) throws -> ArchiveNode.Value {
    let session = EncodingSession(configuration: self)
    let encoded = try session.encode(value, at: [])
    try session.close()
    // Values at the top are objects, as `encodeObject` writes them.
    return encoded.boxed
  }

  func naming(of type: (any Any.Type)?, at path: [any CodingKey]) -> Naming? {
    if let type, let naming = namings[ObjectIdentifier(type)] { return naming }
    return nameOthers?(type, path)
  }
}
