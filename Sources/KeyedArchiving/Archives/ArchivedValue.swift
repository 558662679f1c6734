public import Foundation

/// A value of a keyed archive, with references followed: what a field, an element or an entry of the object table
/// holds.
///
/// The cases are the forms that values have in the archive. The views interpret these forms: `string`, `double`,
/// `date`, `data`, `array`, `dictionary`, `url`, `color` and so on. Each view returns nil for a value of another type,
/// and throws if a value of its own type is broken. So `try object["name"]?.string` reads a string that is stored
/// either as a plain string or as an object of a class derived from `NSString`.
public enum ArchivedValue: Sendable {
  /// Nil: UID 0, or an entry that is the string `$null`.
  case null
  /// A boolean.
  case bool(Bool)
  /// An integer.
  case integer(Int64)
  /// An integer above `Int64.max`.
  case unsigned(UInt64)
  /// A floating-point number, which may be infinite or NaN. Writers may store an integral number as an integer instead.
  case real(Double)
  /// A string. `NSString` is archived in this form, its subclasses as objects.
  case string(String)
  /// Bytes. `NSData` is archived in this form, its subclasses as objects.
  case data(Data)
  /// A date of the property list itself, in seconds since 2001-01-01 00:00 UTC. It may be infinite or NaN. `NSDate` is
  /// archived as an object.
  case date(Double)
  /// An array of the property list itself. `NSArray` is archived as an object.
  case array(ArchivedArray)
  /// A dictionary of the property list itself. `NSDictionary` is archived as an object.
  case dictionary(ArchivedDictionary)
  /// An object of a named class.
  case object(ArchivedObject)

  /// Whether the value is nil, or an object of class `NSNull`.
  public var isNull: Bool {
    switch self {
    case .null: true
    case .object(let object): object.isKind(of: "NSNull")
    default: false
    }
  }

  /// The kind of the value, in one word: `string`, `real`, or the class of an object.
  public var kind: String {
    switch self {
    case .null: "null"
    case .bool: "bool"
    case .integer, .unsigned: "integer"
    case .real: "real"
    case .string: "string"
    case .data: "data"
    case .date: "date"
    case .array: "array"
    case .dictionary: "dictionary"
    case .object(let object): object.className
    }
  }
}
