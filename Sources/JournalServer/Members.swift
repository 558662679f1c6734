import CBOR
import CatalogModel
import Foundation

/// The members of a JSON object. Each is checked when it is read.
struct Members: Sendable {
  /// The members that requests to restore, revert, undo and redo have in common.
  static let ofPlans = ["dryRun", "plan", "author", "note"]

  private let members: [String: FieldValue]
  private let place: String

  init(_ value: FieldValue, of place: String, allowing names: [String]) throws(APIError) {
    guard case .dictionary(let members) = value else { throw .wrongUse("\(place) is an object") }
    if let unknown = members.keys.filter({ !names.contains($0) }).min() {
      throw .wrongUse("\(place) has no member \"\(unknown)\"; it may have \(names.joined(separator: ", "))")
    }
    self.members = members
    self.place = place
  }

  func has(_ name: String) -> Bool { members[name] != nil }

  func value(_ name: String) -> FieldValue? { members[name] }

  static func string(_ value: FieldValue, _ name: String) throws(APIError) -> String {
    guard let text = value.string else { throw .wrongUse("\(name) has an element that is not a text") }
    return text
  }

  private func member<Value>(
    _ name: String, _ form: String, mayBeNull: Bool = false, _ convert: (FieldValue) -> Value?
  ) throws(APIError) -> Value? {
    guard let value = members[name], !(mayBeNull && value.isNull) else { return nil }
    guard let found = convert(value) else { throw .wrongUse("\(name) of \(place) is \(form)") }
    return found
  }

  func string(_ name: String) throws(APIError) -> String? {
    try member(name, "a text", mayBeNull: true, \.string)
  }

  func required(_ name: String) throws(APIError) -> String {
    guard let text = try string(name) else { throw .wrongUse("\(place) lacks \(name)") }
    return text
  }

  func integer(_ name: String) throws(APIError) -> Int? {
    try member(name, "a whole number", mayBeNull: true, \.integer)
  }

  func date(_ name: String) throws(APIError) -> Date? {
    try member(name, "a date such as \"2026-08-01T10:00:00Z\"", mayBeNull: true) { value in
      value.string.flatMap { Timestamp($0) }?.date
    }
  }

  func flag(_ name: String) throws(APIError) -> Bool { try member(name, "true or false", \.bool) ?? false }

  func array(_ name: String) throws(APIError) -> [FieldValue] { try member(name, "an array", \.array) ?? [] }

  func object(_ name: String) throws(APIError) -> [String: FieldValue] {
    try member(name, "an object", \.dictionary) ?? [:]
  }

  func texts(_ name: String) throws(APIError) -> [String: String] {
    var texts: [String: String] = [:]
    for (key, value) in try object(name) { texts[key] = try Self.string(value, name) }
    return texts
  }
}
