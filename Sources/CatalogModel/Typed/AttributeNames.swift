import CBOR
import Foundation
import Locks

extension CatalogItem {
  /// The attribute for a property, or why there is none.
  ///
  /// For each key path, values of the type are made up and encoded once, and the attribute is the one that has the
  /// property's value in each of these. So the name is the one that the type encodes, whatever the property is called,
  /// and the answer does not depend on any stored item.
  static func attribute(of property: any PartialKeyPath<Self> & Sendable) -> Result<
    AttributePath, JournalError
  > {
    let key = Property(keyPath: property)
    if let known = knownAttributes.withLock({ $0[key] }) { return known }
    let found = Result { () throws(JournalError) -> AttributePath in
      let samples = Samples<Self>.all()
      do throws(JournalError) {
        return AttributePath(try samples.names(of: property))
      } catch {
        guard let name = attributeName(of: property) else { throw error }
        return AttributePath([name])
      }
    }
    knownAttributes.withLock { $0[key] = found }
    return found
  }
}

private struct Property: Hashable, Sendable {
  let keyPath: any AnyKeyPath & Sendable

  static func == (left: Property, right: Property) -> Bool {
    (left.keyPath as AnyKeyPath) == (right.keyPath as AnyKeyPath)
  }

  func hash(into hasher: inout Hasher) { hasher.combine(keyPath as AnyKeyPath) }
}

private let knownAttributes = Lock<[Property: Result<AttributePath, JournalError>]>([:])
/// The samples of each type.
private let knownSamples = Lock<[ObjectIdentifier: any Sendable]>([:])

/// Made-up values of a type, and their encoded attributes.
private struct Samples<Model: CatalogItem>: Sendable {
  /// The values that one attribute, or a member inside, has in the samples. Null counts as missing.
  private struct Column: Sendable {
    let names: [String]
    var values: [FieldValue?]
  }

  private var models: [Model] = []
  private var columns: [Column] = []
  /// Why a sample could not be made; nil if all were.
  private var failure: (any Error)?

  /// The samples of the type, which are made once.
  static func all() -> Samples {
    let type = ObjectIdentifier(Model.self)
    if let known = knownSamples.withLock({ $0[type] }) as? Samples { return known }
    let samples = Samples((0..<Sample.usualCount).map { .usual($0) })
    knownSamples.withLock { $0[type] = samples }
    return samples
  }

  private init(_ samples: [Sample]) {
    var contents: [FieldValue] = []
    for sample in samples {
      do {
        let model = try SampleDecoder.value(Model.self, sample)
        contents.append(try ValueEncoder().encode(model))
        models.append(model)
      } catch {
        failure = error
      }
    }
    var places: [[String]: Int] = [:]
    for (index, content) in contents.enumerated() {
      content.forEachMember { names, value in
        let place = places[names] ?? columns.count
        if place == columns.count {
          places[names] = place
          columns.append(Column(names: names, values: Array(repeating: nil, count: contents.count)))
        }
        columns[place].values[index] = value
      }
    }
  }

  /// The names on the path to a property's attribute.
  func names(of property: PartialKeyPath<Model>) throws(JournalError) -> [String] {
    guard models.count > 1 else {
      throw error(property, "no \(Model.self) can be decoded from made-up content\(failure?.place ?? "")")
    }
    let contents = try contents(of: property)
    let found = columns.filter { matches(contents, $0.values) }
    guard let column = found.first else {
      throw error(property, "no attribute always has its value, so it is computed or not encoded")
    }
    if found.count > 1 {
      let names = found.map { "\"\($0.names.joined(separator: "."))\"" }.joined(separator: " and ")
      throw error(property, "it can't be told apart from another one: \(names)")
    }
    // A property with an offset in the memory of a structure is a stored one.
    if MemoryLayout<Model>.offset(of: property) != nil { return column.names }
    let valueType = type(of: property).valueType
    // A property that replaces nil by a default has another type than the stored one.
    let isStored =
      valueType is any OptionalType.Type
      || zip(models, contents).allSatisfy { model, content in
        content.map { stores($0, as: valueType, in: model) } ?? true
      }
    // A computed property can have the value of a stored one in usual samples, but not in empty or unusual ones.
    let special = Samples([.empty, .unusual])
    let others =
      special.columns.first { $0.names == column.names }?.values ?? special.models.map { _ in nil }
    guard isStored, matches(contents + (try special.contents(of: property)), column.values + others) else {
      throw error(property, "it is computed, or unwraps an optional")
    }
    return column.names
  }

  /// What a property encodes in each sample; nil for nothing.
  private func contents(of property: PartialKeyPath<Model>) throws(JournalError) -> [FieldValue?] {
    var contents: [FieldValue?] = []
    for model in models {
      let value = model[keyPath: property]
      let compared = (value as? any QueryValue)?.queryValue
      let content: FieldValue?
      if let value = value as? any Encodable {
        do { content = try ValueEncoder().encode(value) } catch { throw self.error(property, "\(error)") }
      } else if compared != nil || type(of: property).valueType is any Encodable.Type {
        content = compared
      } else {
        throw error(property, "its type is not Encodable")
      }
      if let compared, ValueKey(compared) != ValueKey(content) {
        throw error(property, "it encodes \(content ?? .null), and its queryValue is \(compared)")
      }
      contents.append(content == .null ? nil : content)
    }
    return contents
  }

  /// Whether an attribute has a property's content in each sample in which it exists. A type may omit some content,
  /// such as false, but then in every sample.
  private func matches(_ contents: [FieldValue?], _ values: [FieldValue?]) -> Bool {
    var (encoded, omitted): (Set<FieldValue>, Set<FieldValue>) = ([], [])
    var count = 0
    for (content, value) in zip(contents, values) {
      if let content, value == nil {
        omitted.insert(content)
      } else if content != value {
        return false
      } else if let content {
        encoded.insert(content)
        count += 1
      }
    }
    return count > 1 && encoded.isDisjoint(with: omitted)
  }

  private func error(_ property: PartialKeyPath<Model>, _ reason: String) -> JournalError {
    // The members of a dictionary have other names in each sample, so they are not listed.
    let common = columns.filter { $0.values.compactMap(\.self).count > 1 }
    let attributes = common.map { $0.names.joined(separator: ".") }.sorted()
    let known =
      attributes.isEmpty ? "" : "The attributes of \(Model.self) are \(attributes.joined(separator: ", ")). "
    return JournalError(
      .wrongUse,
      "the key path \(property) leads to no attribute of \(Model.self): \(reason). \(known)"
        + "Query one by its name, as in .attribute(\"title\", in: .equal(to: \"Ana\")), or return its name from "
        + "\(Model.self).attributeName(of:)")
  }
}

/// Whether a value, or a value inside, stores a property of a given type and content. Raw values count as stored.
private func stores(_ content: FieldValue, as type: Any.Type, in value: Any, depth: Int = 0) -> Bool {
  if depth > 0, Swift.type(of: value) == type, let value = value as? any Encodable,
    (try? ValueEncoder().encode(value)) == content
  {
    return true
  }
  var mirror: Mirror? = Mirror(reflecting: value)
  let isOpaque = [.optional, .collection, .dictionary, .set].contains(mirror?.displayStyle)
  guard depth < 8, !isOpaque else { return false }
  if let value = value as? any RawRepresentable,
    stores(content, as: type, in: value.rawValue, depth: depth + 1)
  {
    return true
  }
  while let part = mirror {
    if part.children.contains(where: { stores(content, as: type, in: $0.value, depth: depth + 1) }) {
      return true
    }
    mirror = part.superclassMirror
  }
  return false
}

extension Error {
  /// Where decoding has failed, and why, as the end of a sentence.
  fileprivate var place: String {
    switch self as? DecodingError {
    case .typeMismatch(_, let context), .valueNotFound(_, let context), .keyNotFound(_, let context),
      .dataCorrupted(let context):
      let path = context.codingPath.map(\.stringValue).joined(separator: ".")
      return ": \(path.isEmpty ? "" : "\(path): ")\(context.debugDescription)"
    default: return ": \(self)"
    }
  }
}

private protocol OptionalType {}

extension Optional: OptionalType {}

extension FieldValue {
  /// Calls `body` with each member of a dictionary, and of dictionaries inside, that is not null.
  fileprivate func forEachMember(
    after names: [String] = [], _ body: (_ names: [String], _ value: FieldValue) -> Void
  ) {
    guard case .dictionary(let members) = self, names.count < 8 else { return }
    for (name, value) in members where value != .null {
      body(names + [name], value)
      value.forEachMember(after: names + [name], body)
    }
  }
}
