import Foundation
import PropertyLists

// Fields for the views. Each function returns the value of the first of the given fields that is not nil; nil if there
// is none. It throws if that value has another type.

extension ArchivedObject {
  func malformed(_ message: String) -> ArchiveError {
    fields.graph.malformed("\(message) (\(className))", uid)
  }

  private func first<Value>(
    _ keys: [String], _ kind: String, _ view: (ArchivedValue) throws(ArchiveError) -> Value?
  ) throws(ArchiveError) -> Value? {
    for key in keys {
      guard let value = try self[key], !value.isNull else { continue }
      guard let result = try view(value) else { throw malformed("\(key) is not \(kind)") }
      return result
    }
    return nil
  }

  func double(_ keys: String...) throws(ArchiveError) -> Double? {
    try first(keys, "a number") { (value) throws(ArchiveError) in try value.double }
  }

  func integer(_ keys: String...) throws(ArchiveError) -> Int? {
    try first(keys, "an integer") { $0.integer }
  }

  func string(_ keys: String...) throws(ArchiveError) -> String? {
    try first(keys, "a string") { (value) throws(ArchiveError) in try value.string }
  }

  func data(_ keys: String...) throws(ArchiveError) -> Data? {
    try first(keys, "data") { (value) throws(ArchiveError) in try value.data }
  }

  func object(_ key: String, of className: String) throws(ArchiveError) -> ArchivedObject? {
    try first([key], "an object of class \(className)") { $0.kind(of: className) }
  }
}

extension ArchivedValue {
  /// The value as an object if its class is, or descends from, one of the given classes; otherwise nil.
  func kind(of classes: String...) -> ArchivedObject? {
    guard case .object(let object) = self, classes.contains(where: object.isKind) else { return nil }
    return object
  }
}
