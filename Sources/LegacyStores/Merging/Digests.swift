import CatalogModel
import Foundation
import Journaling
import SHA256

/// The digests of an element's attributes, by which an import tells what has changed in the files and in the journal
/// since the last one.
///
/// Elements of a list mostly have the same attributes. They share the memory of the names.
struct Digests: Hashable, Sendable {
  /// The names of the attributes, sorted.
  private(set) var names: [String] = []
  private var values: [Data] = []

  init() {}

  /// - Parameter known: the lists of names that may be shared.
  init(_ digests: [String: Data], sharing known: inout Set<[String]>) {
    let own = digests.keys.sorted()
    let shared = known.insert(own).memberAfterInsert
    // Equal texts can have other bytes.
    names = shared.elementsEqual(own) { $0.utf8.elementsEqual($1.utf8) } ? shared : own
    values = names.compactMap { digests[$0] }
  }

  subscript(name: String) -> Data? {
    get {
      let place = place(of: name)
      return place < names.count && names[place] == name ? values[place] : nil
    }
    set {
      let place = place(of: name)
      switch (place < names.count && names[place] == name, newValue) {
      case (true, let digest?): values[place] = digest
      case (false, let digest?):
        names.insert(name, at: place)
        values.insert(digest, at: place)
      case (true, nil):
        names.remove(at: place)
        values.remove(at: place)
      case (false, nil): break
      }
    }
  }

  /// The index of a name, or where it would be.
  private func place(of name: String) -> Int { names.partitioningIndex { $0 >= name } }

  /// The names of attributes that refer to other items or to categories.
  var references: [String] { zip(names, values).filter { $1.count > 8 }.map(\.0) }

  /// The digests without those of some attributes, and without those of references, which change with their targets.
  func own(without others: [String]) -> Digests {
    var own = self
    for name in references + others { own[name] = nil }
    return own
  }

  /// The attributes that say something, each with its value.
  var parts: [Data] {
    zip(names, values).filter { !FieldValue.insignificantDigests.contains($1) }.map { Data($0.utf8) + $1 }
  }

  func hash(into hasher: inout Hasher) { hasher.combine(values) }

  /// The digests as a value of the memory.
  var value: FieldValue {
    .dictionary(Dictionary(uniqueKeysWithValues: zip(names, values.map { .data($0) })))
  }
}

extension FieldValue {
  /// The first eight bytes of the SHA-256 of the value, and one more if it refers to an item or a category. The names of
  /// classes and the types of numbers do not count.
  var digest: Data {
    let comparable = mapped { value in
      guard case .integer(let integer) = value else { return value.setting(Reference.objectClass, nil) }
      return Double(exactly: integer).map { .double($0) } ?? value
    }
    let refersToOthers = contains { $0.target(Reference.item) ?? $0.target(Reference.category) != nil }
    return ["": comparable].fingerprint + (refersToOthers ? [1] : [])
  }

  /// The digests of values that say nothing: nil, an empty text or list, zero, a boolean.
  static let insignificantDigests = Set(
    [FieldValue.null, "", 0, true, false, [], [:]].map(\.digest))
}

extension [String: FieldValue] {
  /// The first eight bytes of the SHA-256 of the attributes in their deterministic encoding.
  var fingerprint: Data { Data(SHA256Hash.digest(EntityRecord(self).bytes).bytes.prefix(8)) }
}
