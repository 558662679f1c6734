import PropertyLists

/// Checks an XML property list and returns its binary form.
func xmlPropertyListInBinaryForm(
  _ bytes: ArchiveBytes, limits: ArchiveLimits
) throws(ArchiveError) -> ArchiveBytes {
  var reader = XMLPropertyListReader(try XMLText(bytes), limits: limits)
  return ArchiveBytes(try reader.binaryForm(), path: bytes.path)
}

/// Reads elements and writes their objects. The members of a collection are written before the collection.
private struct XMLPropertyListReader {
  private enum Element: String, CaseIterable {
    case key, string, dict, integer, array, date, real, data, plist
    case yes = "true"
    case no = "false"

    private static let names = allCases.map { (name: Array($0.rawValue.utf8), element: $0) }

    init?(_ name: XMLScanner.Name) {
      guard let known = Self.names.first(where: { $0.name.elementsEqual(name.bytes) }) else { return nil }
      self = known.element
    }
  }

  /// A collection that is still open.
  private struct Frame {
    let name: XMLScanner.Name
    let isDictionary: Bool
    /// The index in `numbers` of the first member. The members of a dictionary are keys and values in turn.
    let start: Int
  }

  private var scanner: XMLScanner
  private let limits: ArchiveLimits
  private var stack: [Frame] = []
  /// The object numbers of the members of all open collections.
  private var numbers: [Int] = []
  /// The object number of each key. Many dictionaries have the same keys, which are written once.
  private var keys: [ArraySlice<UInt8>: Int] = [:]

  init(_ text: XMLText, limits: ArchiveLimits) {
    scanner = XMLScanner(text)
    self.limits = limits
  }

  mutating func binaryForm() throws(ArchiveError) -> [UInt8] {
    // Each object has a tag, so there are at most as many objects as tags.
    let tagCount = scanner.utf8.reduce(0) { $0 + ($1 == UInt8(ascii: "<") ? 1 : 0) }
    return try BinaryPropertyListWriter.bytes(maximumObjectCount: tagCount) {
      (writer) throws(ArchiveError) in
      try document(&writer)
    }
  }

  /// Reads `<plist>` with one value, or the value alone. Returns the value's object number.
  private mutating func document(_ writer: inout BinaryPropertyListWriter) throws(ArchiveError) -> Int {
    var tag = try scanner.nextTag()
    var plist: XMLScanner.Name?
    if case .opening(let name, let isEmpty) = tag, Element(name) == .plist {
      guard !isEmpty else { throw scanner.error("the property list is empty: <plist> holds no value") }
      plist = name
      tag = try scanner.nextTag()
    }
    guard case .opening = tag else { throw scanner.error("the property list is empty: it has no value") }
    let top = try value(tag, &writer)
    if let plist {
      guard case .closing(plist) = try scanner.nextTag() else {
        throw scanner.error("the property list has more than one value, or </plist> is missing")
      }
    }
    guard case .endOfText = try scanner.nextTag() else {
      throw scanner.error("there is more after the end of the property list")
    }
    return top
  }

  /// Reads the value that a tag begins, to the end of the value. Returns the value's object number.
  private mutating func value(
    _ first: XMLScanner.Tag, _ writer: inout BinaryPropertyListWriter
  ) throws(ArchiveError) -> Int {
    var tag = first
    while true {
      var made: Int?
      switch tag {
      case .opening(let name, let isEmpty): made = try opened(name, isEmpty: isEmpty, &writer)
      case .closing(let name): made = try closed(name, &writer)
      case .endOfText:
        throw scanner.error(
          "the text ends inside a property list: it was truncated, or closing tags are missing")
      }
      if let made {
        guard !stack.isEmpty else { return made }
        numbers.append(made)
      }
      tag = try scanner.nextTag()
    }
  }

  /// Whether the last member of the innermost dictionary is a key without a value.
  private var hasOpenKey: Bool { !(numbers.count - (stack.last?.start ?? 0)).isMultiple(of: 2) }

  /// Reads an element. Returns the object number of a complete value; nil for a key or a collection that stays open.
  private mutating func opened(
    _ name: XMLScanner.Name, isEmpty: Bool, _ writer: inout BinaryPropertyListWriter
  ) throws(ArchiveError) -> Int? {
    guard let element = Element(name) else {
      throw scanner.error("<\(name.words)> is not an element of a property list")
    }
    let isInDictionary = stack.last?.isDictionary ?? false
    if element == .key {
      guard isInDictionary else { throw scanner.error("a <key> is outside a dictionary") }
      guard !hasOpenKey else { throw scanner.error("a <key> follows another <key> that has no value") }
      let content = isEmpty ? [] : try scanner.content(of: name)
      let number = if let known = keys[content] { known } else { try text(content, &writer) }
      keys[content] = number
      numbers.append(number)
      return nil
    }
    if isInDictionary, !hasOpenKey { throw scanner.error("a value of a dictionary has no <key> before it") }
    switch element {
    case .dict, .array:
      guard stack.count < limits.depth else {
        throw scanner.error("collections are nested more than \(limits.depth) deep", at: nil, .limitExceeded)
      }
      stack.append(Frame(name: name, isDictionary: element == .dict, start: numbers.count))
      return isEmpty ? try closed(name, &writer) : nil
    case .plist: throw scanner.error("<plist> is in the place of a value")
    default:
      let start = scanner.tagPosition
      let content = isEmpty ? [] : try scanner.content(of: name)
      return try scalar(element, content, start, &writer)
    }
  }

  private mutating func closed(
    _ name: XMLScanner.Name, _ writer: inout BinaryPropertyListWriter
  ) throws(ArchiveError) -> Int {
    guard let frame = stack.last, frame.name == name else {
      throw scanner.error("</\(name.words)> closes nothing that is open here")
    }
    let members = Array(numbers[frame.start...])
    guard frame.isDictionary else {
      numbers.removeLast(members.count)
      stack.removeLast()
      return try writer.array(members)
    }
    guard !hasOpenKey else { throw scanner.error("the last <key> of a dictionary has no value") }
    numbers.removeLast(members.count)
    stack.removeLast()
    var (keys, values): ([Int], [Int]) = ([], [])
    // The index of each key, if there are too many keys to compare each with all others.
    var places: [Int: Int]? = members.count > 64 ? [:] : nil
    for index in stride(from: 0, to: members.count, by: 2) {
      let key = members[index]
      // The last value of a repeated key counts, as in Foundation.
      if let place = places.map({ $0[key] }) ?? keys.firstIndex(of: key) {
        values[place] = members[index + 1]
      } else {
        places?[key] = keys.count
        keys.append(key)
        values.append(members[index + 1])
      }
    }
    return try writer.dictionary(keys: keys, values: values)
  }

  private func scalar(
    _ element: Element, _ content: ArraySlice<UInt8>, _ start: Int, _ writer: inout BinaryPropertyListWriter
  ) throws(ArchiveError) -> Int {
    func refusal(_ message: String) -> ArchiveError {
      scanner.error("\(message): `\(String(decoding: content.prefix(32), as: UTF8.self))`", at: start)
    }
    switch element {
    case .yes, .no:
      guard content.allSatisfy(isBlank) else { throw refusal("a boolean contains text") }
      return try writer.bool(element == .yes)
    case .integer:
      let value = xmlInteger(content)
      if let small = value.flatMap({ Int64(exactly: $0) }) { return try writer.integer(small) }
      if let large = value.flatMap({ UInt64(exactly: $0) }) { return try writer.unsigned(large) }
      throw refusal("this is not an integer of 64 bits")
    case .real:
      guard let value = xmlReal(content) else { throw refusal("this is not a number") }
      return try writer.real(value)
    case .date:
      guard let seconds = xmlDate(content) else {
        throw refusal("this is not a date in the form 2001-01-31T23:59:59Z")
      }
      return try writer.date(seconds)
    case .data:
      guard let data = base64(content) else { throw refusal("this is not base64") }
      return try writer.data(data)
    default: return try text(content, &writer)
    }
  }

  private func text(
    _ content: ArraySlice<UInt8>, _ writer: inout BinaryPropertyListWriter
  ) throws(ArchiveError) -> Int {
    try unsafe content.withUnsafeBufferPointer { utf8 throws(ArchiveError) in
      try unsafe writer.string(utf8: UnsafeRawBufferPointer(utf8))
    }
  }
}
