import Foundation
import PropertyLists

// Fields for the views. Each function returns nil if a field is absent, and throws if it has a value of another type.

extension ArchivedObject {
  func malformed(_ message: String) -> ArchiveError {
    fields.graph.malformed("\(message) (\(className))", uid)
  }

  /// The object in a field, or nil if there is no such field or it holds nil.
  ///
  /// - Throws: `ArchiveError` with code `malformed` if the field has another type.
  func object(_ key: String, of className: String) throws(ArchiveError) -> ArchivedObject? {
    switch try self[key] {
    case nil, .null?: return nil
    case .object(let object)? where object.isKind(of: className): return object
    case .some: throw malformed("\(key) is not an object of class \(className)")
    }
  }

  /// The number in the first of these fields that exists and doesn't hold nil. Nil if there is none.
  ///
  /// - Throws: `ArchiveError` with code `malformed` if the field has another type.
  func double(_ keys: String...) throws(ArchiveError) -> Double? {
    for key in keys {
      guard let value = try self[key], !value.isNull else { continue }
      guard let number = try value.double else { throw malformed("\(key) is not a number") }
      return number
    }
    return nil
  }

  /// The integer in the first of these fields that exists and doesn't hold nil. Nil if there is none.
  ///
  /// - Throws: `ArchiveError` with code `malformed` if the field has another type.
  func integer(_ keys: String...) throws(ArchiveError) -> Int? {
    for key in keys {
      guard let value = try self[key], !value.isNull else { continue }
      guard let number = value.integer else { throw malformed("\(key) is not an integer") }
      return number
    }
    return nil
  }

  /// The text in the first of these fields that exists and doesn't hold nil. Nil if there is none.
  ///
  /// - Throws: `ArchiveError` with code `malformed` if the field has another type.
  func string(_ keys: String...) throws(ArchiveError) -> String? {
    for key in keys {
      guard let value = try self[key], !value.isNull else { continue }
      guard let text = try value.string else { throw malformed("\(key) is not a string") }
      return text
    }
    return nil
  }

  /// The data in a field, or nil if there is no such field or it holds nil.
  ///
  /// - Throws: `ArchiveError` with code `malformed` if the field has another type.
  func data(_ key: String) throws(ArchiveError) -> Data? {
    guard let value = try self[key], !value.isNull else { return nil }
    guard let data = try value.data else { throw malformed("\(key) is not data") }
    return data
  }

  /// The date in a field, or nil if there is no such field or it holds nil.
  ///
  /// - Throws: `ArchiveError` with code `malformed` if the field has another type.
  func date(_ key: String) throws(ArchiveError) -> Date? {
    guard let value = try self[key], !value.isNull else { return nil }
    guard let date = try value.date else { throw malformed("\(key) is not a date") }
    return date
  }
}
