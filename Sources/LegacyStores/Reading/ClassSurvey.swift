import KeyedArchiving

/// The classes of one or more archives, with the fields of their objects, and their roles in the store.
struct ClassSurvey {
  /// For each class, the kinds of values under each key.
  private(set) var classes: [String: [String: Set<String>]] = [:]
  /// How many objects each class has.
  private var objectCounts: [String: Int] = [:]
  /// For each class, how many of its objects have each key.
  private var keyCounts: [String: [String: Int]] = [:]
  /// For each class, the keys with a number, a text or data in the field itself in some objects.
  private var inlineKeys: [String: Set<String>] = [:]
  /// The classes of categories.
  private(set) var categories: Set<String> = []

  init(_ inspections: [ArchiveInspection], _ mapping: FieldMapping) {
    for found in inspections.flatMap(\.classes) {
      let name = found.description.name
      if classes[name] == nil { classes[name] = [:] }
      objectCounts[name, default: 0] += found.count
      for field in found.fields {
        keyCounts[name, default: [:]][field.name, default: 0] += field.count
        if field.isInline { inlineKeys[name, default: []].insert(field.name) }
        classes[name]?[field.name, default: []].formUnion(field.kinds.map(\.kind))
      }
    }
    let mapped = mapping.keys["category"].map { [$0] }
    let keys = mapped ?? KnownKind.categoryKeys.filter { $0 != "categories" }
    for kind in classes.values.flatMap({ fields in keys.flatMap { fields[$0] ?? [] } }) {
      if isCustom(kind), isNamed(kind) { categories.insert(kind) }
    }
    if mapped != nil { return }
    // A file may have only categories.
    for name in classes.keys where isCustom(name) && Self.shortName(name).lowercased().contains("categor") {
      let hasCategory = keys.contains { !categories.isDisjoint(with: classes[name]?[$0] ?? []) }
      if !hasCategory, isNamed(name) { categories.insert(name) }
    }
  }

  private func isNamed(_ name: String) -> Bool { key(KnownKind.categoryNameKeys, in: name) != nil }

  /// Whether a class belongs to an app: it is in the archives and not in Apple's frameworks.
  func isCustom(_ name: String) -> Bool { classes[name] != nil && !Self.isSystem(name) }

  /// Whether some objects of a class lack a key that others have.
  func isOptional(_ key: String, in name: String) -> Bool {
    keyCounts[name]?[key].map { $0 < objectCounts[name, default: 0] } ?? false
  }

  /// Whether some objects of a class have a number, a text or data in a field itself.
  func isInline(_ key: String, in name: String) -> Bool { inlineKeys[name]?.contains(key) ?? false }

  /// Whether a class of this name belongs to one of Apple's frameworks.
  static func isSystem(_ name: String) -> Bool {
    SystemClasses.names.contains(String(name.drop { $0 == "_" }))
  }

  /// The first of these keys that a class has.
  func key(_ wanted: [String], in name: String) -> String? {
    wanted.first { classes[name]?[$0] != nil }
  }

  /// The shortest path from a class to a field, through objects that are parts of it.
  func path(to wanted: [String], from name: String, avoiding others: Set<String>) -> String? {
    var next = [(name: name, path: "")]
    var seen: Set<String> = [name]
    for _ in 0..<4 {
      var further: [(name: String, path: String)] = []
      for (name, path) in next {
        if let key = key(wanted, in: name) { return path + key }
        for (field, kinds) in (classes[name] ?? [:]).sorted(by: { $0.key < $1.key }) {
          for kind in kinds.sorted() where classes[kind] != nil && !others.contains(kind) {
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
    func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
    var rest = name.utf8.dropFirst(3).drop { !isDigit($0) }
    var parts: [String] = []
    while let first = rest.first, isDigit(first) {
      let digits = rest.prefix(while: isDigit)
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
