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
  private enum Element: String {
    case plist, dict, key, array, string, integer, real, date, data
    case yes = "true"
    case no = "false"
  }

  /// A collection that is still open.
  private struct Frame {
    let name: XMLScanner.Name
    let position: Int
    let isDictionary: Bool
    /// The position of each key; the last value of a repeated key counts, as in Foundation.
    var places: [[UInt8]: Int] = [:]
    /// The position of the key whose value comes next, if the key is a repeated one.
    var repeated: Int?
    var keys: [Int] = []
    var values: [Int] = []

    /// Whether a key waits for its value.
    var hasOpenKey: Bool { repeated != nil || keys.count != values.count }

    mutating func take(_ value: Int) {
      if let place = repeated {
        values[place] = value
        repeated = nil
      } else {
        values.append(value)
      }
    }
  }

  private var scanner: XMLScanner
  private let limits: ArchiveLimits
  private var stack: [Frame] = []

  init(_ text: XMLText, limits: ArchiveLimits) {
    scanner = XMLScanner(text)
    self.limits = limits
  }

  mutating func binaryForm() throws(ArchiveError) -> [UInt8] {
    // Each object has a tag, so there are at most as many objects as tags.
    let tagCount = scanner.text.utf8.reduce(0) { $0 + ($1 == UInt8(ascii: "<") ? 1 : 0) }
    return try BinaryPropertyListWriter.bytes(maximumObjectCount: tagCount) {
      (writer) throws(ArchiveError) in
      try document(&writer)
    }
  }

  /// `<plist>` with one value, or the value alone.
  private mutating func document(_ writer: inout BinaryPropertyListWriter) throws(ArchiveError) -> Int {
    var tag = try scanner.nextTag()
    var plist: XMLScanner.Name?
    if case .opening(let name, let isEmpty) = tag, element(name) == .plist {
      guard !isEmpty else { throw error("the property list is empty: <plist> holds no value") }
      plist = name
      tag = try scanner.nextTag()
    }
    guard case .opening = tag else {
      throw error("the property list is empty: it has no value")
    }
    let top = try value(tag, &writer)
    if let plist {
      guard case .closing(plist) = try scanner.nextTag() else {
        throw error("the property list has more than one value, or </plist> is missing")
      }
    }
    guard case .endOfText = try scanner.nextTag() else {
      throw error("there is more after the end of the property list")
    }
    return top
  }

  /// Reads the value that a tag begins, to its end.
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
        throw error("the text ends inside a property list: it was truncated, or closing tags are missing")
      }
      if let made {
        guard !stack.isEmpty else { return made }
        stack[stack.count - 1].take(made)
      }
      tag = try scanner.nextTag()
    }
  }

  /// The object of an element, if the element is complete.
  private mutating func opened(
    _ name: XMLScanner.Name, isEmpty: Bool, _ writer: inout BinaryPropertyListWriter
  ) throws(ArchiveError) -> Int? {
    guard let element = element(name) else {
      throw error("<\(name.words)> is not an element of a property list")
    }
    let start = scanner.tagPosition
    if element == .key {
      try takeKey(name, isEmpty: isEmpty, &writer)
      return nil
    }
    if let parent = stack.last, parent.isDictionary, !parent.hasOpenKey {
      throw error("a value of a dictionary has no <key> before it")
    }
    switch element {
    case .dict, .array:
      guard stack.count < limits.depth else {
        throw scanner.text.error(
          "collections are nested more than \(limits.depth) deep", start, .limitExceeded)
      }
      let frame = Frame(name: name, position: start, isDictionary: element == .dict)
      if isEmpty { return try object(frame, &writer) }
      stack.append(frame)
      return nil
    case .plist, .key: throw error("<\(name.words)> is in the place of a value")
    default:
      let content = isEmpty ? [] : try scanner.content(of: name)
      return try scalar(element, content, start, &writer)
    }
  }

  private mutating func takeKey(
    _ name: XMLScanner.Name, isEmpty: Bool, _ writer: inout BinaryPropertyListWriter
  ) throws(ArchiveError) {
    // A copy of the frame would be a second reference, and each change would copy all keys so far.
    let top = stack.count - 1
    guard top >= 0, stack[top].isDictionary else {
      throw error("a <key> is outside a dictionary")
    }
    guard !stack[top].hasOpenKey else { throw error("a <key> follows another <key> that has no value") }
    let content = isEmpty ? [] : try scanner.content(of: name)
    if let place = stack[top].places[content] {
      stack[top].repeated = place
      return
    }
    stack[top].places[content] = stack[top].keys.count
    stack[top].keys.append(try writer.string(String(decoding: content, as: UTF8.self)))
  }

  private mutating func closed(
    _ name: XMLScanner.Name, _ writer: inout BinaryPropertyListWriter
  ) throws(ArchiveError) -> Int {
    guard let frame = stack.popLast(), frame.name == name else {
      throw error("</\(name.words)> closes nothing that is open here")
    }
    guard !frame.isDictionary || !frame.hasOpenKey else {
      throw error("the last <key> of a dictionary has no value")
    }
    return try object(frame, &writer)
  }

  private func object(
    _ frame: Frame, _ writer: inout BinaryPropertyListWriter
  ) throws(ArchiveError) -> Int {
    frame.isDictionary
      ? try writer.dictionary(keys: frame.keys, values: frame.values) : try writer.array(frame.values)
  }

  private func scalar(
    _ element: Element, _ content: [UInt8], _ start: Int, _ writer: inout BinaryPropertyListWriter
  ) throws(ArchiveError) -> Int {
    func refusal(_ message: String) -> ArchiveError {
      let shown = String(decoding: content.prefix(32), as: UTF8.self)
      return scanner.text.error("\(message): `\(shown)`", start)
    }
    switch element {
    case .yes, .no:
      guard content.allSatisfy(isBlank) else { throw refusal("a boolean contains text") }
      return try writer.bool(element == .yes)
    case .integer:
      switch XMLInteger(content) {
      case .signed(let value): return try writer.integer(value)
      case .unsigned(let value): return try writer.unsigned(value)
      case .tooLarge: throw refusal("an integer doesn't fit into 64 bits")
      case nil: throw refusal("this is not an integer")
      }
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
    default: return try writer.string(String(decoding: content, as: UTF8.self))
    }
  }

  private func element(_ name: XMLScanner.Name) -> Element? {
    // No valid name is longer than `integer`; a hostile one can be.
    name.bytes.count > 7 ? nil : Element(rawValue: String(decoding: name.bytes, as: UTF8.self))
  }

  private func error(_ message: String) -> ArchiveError {
    scanner.text.error(message, scanner.tagPosition)
  }
}
