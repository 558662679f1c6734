import CatalogModel
import KeyedArchiving

/// The layout of a file: everything in it except its items and categories, as a value with gaps. An export fills the
/// gaps with items and categories.
///
/// Gaps and containers are dictionaries with these keys; all other values are literal.
enum Layout {
  /// How a property list is encoded: `binary` or ``xml``. Archives are always binary, because every decoder reads both.
  static let format = "format"
  static let xml = "xml"
  static let content = "content"

  /// A keyed archive: its top values by key. In a property list, it stands for data that is such an archive.
  static let archive = "$archive"
  /// The class of an archive's archiver, if it is not Foundation's own.
  static let archiver = "$archiver"
  /// A collection of the items of a list, and of its categories. ``Reference/objectClass`` is the class of the
  /// collection. If several values refer to it, it has a number, ``Reference/id``.
  static let list = "$list"
  /// Elements of a list that are not items.
  static let skipped = "$passedOver"
  /// How many items of the list precede each of them in the file. Without this, they come after all items.
  static let places = "$passedOverAfter"
  /// The first item of a list, or its first category if it has no items.
  static let element = "$element"
  /// How such an item is encoded, if it is no object: ``LegacyClass/Form``.
  static let form = "$form"
  /// A collection in which each item of a list has a separate archive.
  static let each = "$each"

  static func list(
    _ name: String, className: String?,
    skipped elements: [(element: FieldValue, place: Int)] = []
  ) -> FieldValue {
    var members: [String: FieldValue] = [list: .string(name)]
    if !elements.isEmpty {
      members[skipped] = .array(elements.map(\.element))
      members[places] = .array(elements.map { .integer(Int64($0.place)) })
    }
    if let className { members[Reference.objectClass] = .string(className) }
    return .dictionary(members)
  }

  /// - Parameter form: how the item is encoded, if it is stored at the top itself.
  static func element(_ list: String, form: String? = nil) -> FieldValue {
    guard let form, LegacyClass.Form.isInline(form) else { return [element: .string(list)] }
    return [element: .string(list), Self.form: .string(form)]
  }

  static func archive(
    _ top: [String: FieldValue], archiver name: String = KeyedArchiveWriter.standardArchiver
  ) -> FieldValue {
    var members: [String: FieldValue] = [archive: .dictionary(top)]
    if name != KeyedArchiveWriter.standardArchiver { members[archiver] = .string(name) }
    return .dictionary(members)
  }

  static func archiver(of layout: FieldValue) -> String {
    layout[archiver]?.string ?? KeyedArchiveWriter.standardArchiver
  }

  static func file(_ content: FieldValue, isXML: Bool) -> FieldValue {
    [format: .string(isXML ? xml : "binary"), self.content: content]
  }

  /// The names of all lists in files, sorted by the files' names.
  static func lists(in files: [String: FieldValue]) -> [String] {
    files.sorted { $0.key < $1.key }.flatMap { lists(in: $0.value) }
  }

  private static func lists(in value: FieldValue) -> [String] {
    if let elements = value.array { return elements.flatMap { lists(in: $0) } }
    return gap(value).map { [$0] } ?? lists(in: value.dictionary ?? [:])
  }

  /// The names of lists whose order in the files has no meaning.
  static func unorderedLists(in files: [String: FieldValue]) -> Set<String> {
    var names: Set<String> = []
    for file in files.values {
      file.forEachValue { value in
        guard let name = value[list]?.string, value.objectClass?.hasSuffix("Set") ?? false else { return }
        if value.objectClass?.hasSuffix("OrderedSet") == false { names.insert(name) }
      }
    }
    return names
  }

  private static func gap(_ value: FieldValue) -> String? {
    [list, element, each].lazy.compactMap { value[$0]?.string }.first
  }

  /// A new layout, with the gaps of an older one for lists that still have items but were not read: because their part
  /// of the file is damaged, was not to be read, or is absent. A value that took the place of a list stays.
  /// - Parameter isOpen: whether a list has items but was not read.
  static func keeping(_ old: FieldValue, in new: FieldValue, _ isOpen: (String) -> Bool) -> FieldValue {
    merged(old, new) { old, new in
      guard let list = lists(in: old).first(where: isOpen) else { return .some(new) }
      guard let new else { return old.renumbered(for: list) }
      if isLike(old, new) { return nil }
      return isUnread(new) ? old.renumbered(for: list) : new
    } ?? new
  }

  /// Whether a literal may be an archive that is damaged or was not to be read, or a list without its unreadable
  /// elements.
  private static func isUnread(_ literal: FieldValue) -> Bool {
    literal == .null || literal.data != nil || literal.imageName != nil || literal.isEmptyList
      || literal.array?.allSatisfy { $0.data != nil || $0.imageName != nil } ?? false
  }

  /// A new layout, with the gaps of an older one for lists that have become empty. A reader finds lists by their
  /// elements, except at the top.
  /// - Parameter lists: the lists of the new layout. Those that have become empty are added.
  static func findingEmptyLists(
    _ old: FieldValue, in new: FieldValue, _ lists: inout Set<String>
  ) -> FieldValue {
    merged(old, new) { old, new in
      guard let new else { return .some(nil) }
      guard let name = gap(old) else {
        if isLike(old, new) { return nil }
        return new
      }
      guard old[element] == nil, new.isEmptyList, new[Reference.id] == nil, lists.insert(name).inserted else {
        return new
      }
      return old.setting(skipped, nil).setting(places, nil)
    } ?? new
  }

  /// A new layout, in which each part that an older layout has too is what `part` returns.
  /// - Parameter part: what becomes of a part, which the new layout may lack. Without a result, the parts in it are
  ///   looked at.
  private static func merged(
    _ old: FieldValue, _ new: FieldValue?, _ part: (_ old: FieldValue, _ new: FieldValue?) -> FieldValue??
  ) -> FieldValue? {
    if let result = part(old, new) { return result }
    if let older = old.array, let newer = new?.array {
      let elements = (0..<max(older.count, newer.count)).map { index in
        let new = index < newer.count ? newer[index] : nil
        return index < older.count ? merged(older[index], new, part) : new
      }
      return .array(elements.compactMap(\.self))
    }
    var members = new?.dictionary ?? [:]
    for (key, member) in (old.dictionary ?? [:]).sorted(by: { $0.key < $1.key }) {
      members[key] = merged(member, members[key], part)
    }
    return .dictionary(members)
  }

  /// Whether the members of two lists or dictionaries have the same meaning.
  private static func isLike(_ old: FieldValue, _ new: FieldValue) -> Bool {
    if old.array != nil, new.array != nil { return true }
    return old.dictionary != nil && new.dictionary != nil && gap(old) == nil && gap(new) == nil
      && !new.isReference
      // The class of an object that contains lists may have another name now.
      && (old.objectClass == new.objectClass || isAppObject(old) && isAppObject(new))
      && (old[archive] == nil) == (new[archive] == nil)
      // The values of a dictionary in the explicit form are found by their positions.
      && old["NS.keys"].isIdentical(to: new["NS.keys"])
  }

  private static func isAppObject(_ value: FieldValue) -> Bool {
    value.objectClass.map { !ClassSurvey.isSystem($0) } ?? false
  }
}

extension FieldValue {
  /// A part of an older layout for a newer one, which uses the same numbers for other objects. So the objects of the part
  /// get numbers below zero, which depend only on the old numbers and the list: every import makes the same ones. A
  /// reference to an object outside the part becomes nil.
  fileprivate func renumbered(for list: String) -> FieldValue {
    var numbers: Set<Int> = []
    forEachValue { if let number = $0[Reference.id]?.integer { numbers.insert(number) } }
    let digest = FieldValue.string(list).digest.prefix(4).reduce(1) { $0 << 8 | Int($1) } << 24
    func new(_ number: Int) -> Int { number < -1 << 24 ? number : number - digest }
    return mapped { value in
      if let target = value.target(Reference.ref) {
        return numbers.contains(target) ? Reference.make(Reference.ref, new(target)) : .null
      }
      guard let number = value[Reference.id]?.integer else { return value }
      return value.setting(Reference.id, .integer(Int64(new(number))))
    }
  }
}
