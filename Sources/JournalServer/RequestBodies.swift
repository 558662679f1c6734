import CatalogModel
import HTTPServer
import JSON

final class JSONBody: HTTPBodyReader {
  private let byteLimit: Int
  private let finish: ([UInt8]) -> HTTPResponse
  private var bytes: [UInt8] = []

  init(byteLimit: Int, finish: @escaping ([UInt8]) -> HTTPResponse) {
    self.byteLimit = byteLimit
    self.finish = finish
  }

  func take(_ piece: [UInt8]) -> Bool {
    guard bytes.count + piece.count <= byteLimit else { return false }
    bytes += piece
    return true
  }

  func answer() -> HTTPResponse { finish(bytes) }
}

/// Stores a body as a blob while it arrives. An interrupted upload leaves no file.
final class ImageUpload: HTTPBodyReader {
  private let writer: BlobWriter
  private let byteLimit: Int
  private let finish: (Result<HTTPResponse, any Error>) -> HTTPResponse
  private var byteCount = 0
  private var failure: (any Error)?

  init(
    _ writer: BlobWriter, byteLimit: Int, finish: @escaping (Result<HTTPResponse, any Error>) -> HTTPResponse
  ) {
    self.writer = writer
    self.byteLimit = byteLimit
    self.finish = finish
  }

  func take(_ piece: [UInt8]) -> Bool {
    byteCount += piece.count
    guard byteCount <= byteLimit else { return false }
    if failure != nil { return true }
    do { try unsafe piece.withUnsafeBytes { try unsafe writer.write($0) } } catch { failure = error }
    return true
  }

  func answer() -> HTTPResponse {
    finish(
      Result {
        if let failure { throw failure }
        let blob = try writer.finish()
        return .json(["sha256": blob.digest.hex, "byteCount": blob.byteCount], status: 201)
      })
  }
}

/// Checks the members of a JSON object.
struct Members {
  /// The members of all requests that restore something.
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
