import KeyedArchiving

/// The classes of one or more archives, with the fields of their objects, and their roles in the store.
struct ClassSurvey {
  struct Class {
    var count = 0
    /// The kinds of values under each key, by how often.
    var fields: [String: [String: Int]] = [:]
  }

  private(set) var classes: [String: Class] = [:]
  /// The classes of categories.
  private(set) var categories: Set<String> = []

  /// - Parameter categoryKey: the key of an item's category, if the user has named it.
  init(_ inspections: [ArchiveInspection], categoryKey: String??) {
    for inspection in inspections {
      for found in inspection.classes {
        var known = classes[found.description.name] ?? Class()
        known.count += found.count
        for field in found.fields {
          for (kind, count) in field.kinds {
            known.fields[field.name, default: [:]][kind, default: 0] += count
          }
        }
        classes[found.description.name] = known
      }
    }
    let keys: [String] =
      switch categoryKey {
      case .some(.some(let key)): [key]
      case .some(.none): []
      case nil: KindOfThing.categoryKeys.filter { $0 != "categories" }
      }
    for (_, found) in classes {
      for key in keys {
        for kind in found.fields[key]?.keys ?? [:].keys where isCustom(kind) && isNamed(kind) {
          categories.insert(kind)
        }
      }
    }
    guard categoryKey == nil else { return }
    // A file may have only categories.
    for name in classes.keys where isCustom(name) && Self.shortName(name).lowercased().contains("categor") {
      let hasCategory = keys.contains { key in
        classes[name]?.fields[key]?.keys.contains { categories.contains($0) } ?? false
      }
      if !hasCategory, isNamed(name) { categories.insert(name) }
    }
  }

  private func isNamed(_ name: String) -> Bool {
    KindOfThing.categoryNameKeys.contains { classes[name]?.fields[$0] != nil }
  }

  /// Whether a class belongs to an app: it is in the archives and not in Apple's frameworks.
  func isCustom(_ name: String) -> Bool { classes[name] != nil && !Self.isSystem(name) }

  /// Whether the name is one of Apple's frameworks'.
  static func isSystem(_ name: String) -> Bool {
    let bare = name.drop { $0 == "_" }
    for prefix in ["NS", "UI", "CL", "CG", "MK", "CK", "WK", "SK", "GK", "AV", "CA", "MP", "PH", "CF"] {
      guard bare.hasPrefix(prefix), let next = bare.dropFirst(prefix.count).unicodeScalars.first else {
        continue
      }
      if ("A"..."Z").contains(next) { return true }
    }
    return false
  }

  /// The first of some keys that a class has.
  func key(_ wanted: [String], in name: String) -> String? {
    wanted.first { classes[name]?.fields[$0] != nil }
  }

  /// The shortest path from a class to a field, through objects that are parts of it.
  func path(to wanted: [String], from name: String, avoiding others: Set<String>) -> String? {
    var next = [(name: name, path: "")]
    var seen: Set<String> = [name]
    for _ in 0..<4 {
      var further: [(name: String, path: String)] = []
      for (name, path) in next {
        if let key = key(wanted, in: name) { return path + key }
        for (field, kinds) in (classes[name]?.fields ?? [:]).sorted(by: { $0.key < $1.key }) {
          for kind in kinds.keys.sorted() where classes[kind] != nil && !others.contains(kind) {
            if seen.insert(kind).inserted { further.append((kind, "\(path)\(field).")) }
          }
        }
      }
      next = further
    }
    return nil
  }

  /// The name of a class for people: without its module, and demangled.
  static func shortName(_ name: String) -> String {
    let parts = demangled(name) ?? name.split(separator: ".").map(String.init)
    return parts.count > 1 ? parts.dropFirst().joined(separator: ".") : parts.first ?? name
  }

  /// `_TtCV17EncodeExperiments6Person11HelperClass` is EncodeExperiments, Person and HelperClass.
  private static func demangled(_ name: String) -> [String]? {
    guard name.hasPrefix("_Tt") else { return nil }
    var rest = name.utf8.dropFirst(3).drop { !(UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    var parts: [String] = []
    while let first = rest.first, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(first) {
      let digits = rest.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
      guard let count = Int(String(decoding: digits, as: UTF8.self)), count > 0,
        count <= rest.count - digits.count
      else { return nil }
      rest = rest.dropFirst(digits.count)
      parts.append(String(decoding: rest.prefix(count), as: UTF8.self))
      rest = rest.dropFirst(count)
    }
    return parts.isEmpty ? nil : parts
  }
}
