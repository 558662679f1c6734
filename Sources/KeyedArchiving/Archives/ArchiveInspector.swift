import PropertyLists

/// The traversal of ``KeyedArchive/inspect()``: depth first, with an explicit stack.
struct ArchiveInspector {
  /// A collection on the path from the top to the value that is being visited.
  private struct Frame {
    let place: ArchiveGraph.Place
    /// The UID of the object that the collection is or belongs to, for errors.
    let holder: Int?
    /// If the collection is an object, the index of its class in `classes`; its first field `$class` is then skipped.
    let classIndex: Int?
    var next = 0
    var hasSkippedClass = false
  }

  private struct Class {
    let description: ArchivedClass
    var count = 0
    /// For each field, the number of values of each kind. Fields are identified by the object number of their key.
    var fields: [Int: [Kind: Int]] = [:]
  }

  private enum Kind: Hashable {
    case plain(ObjectKind)
    /// A value that is stored directly, and not as an entry of the object table.
    case inline(ObjectKind)
    case unreadable
    case object(Int)
  }

  private let graph: ArchiveGraph
  private var stack: [Frame] = []
  private var visited: Bits
  private var onStack: Bits
  private var classes: [Class] = []
  private var classIndexes: [Int: Int] = [:]
  private var kinds: [Kind: Int] = [:]
  private var isCyclic = false
  private var problems: [ArchiveError] = []
  private var problemCount = 0
  /// How many more references may be visited. Each reference of a sound file takes at least one byte.
  private var referencesLeft: Int

  init(_ graph: ArchiveGraph) {
    self.graph = graph
    visited = Bits(count: graph.list.objectCount)
    onStack = Bits(count: graph.list.objectCount)
    referencesLeft = graph.list.bytes.count
  }

  /// The index in `classes` of each visited object, by object number.
  private var classesOfCollections: [Int: Int] = [:]

  mutating func run() throws(ArchiveError) {
    let top = graph.top
    for index in 0..<top.count {
      _ = try step { () throws(ArchiveError) in try top.number(at: index) }
      try drain()
    }
  }

  private mutating func drain() throws(ArchiveError) {
    let list = graph.list
    while let frame = stack.last {
      let (header, position) = (frame.place.header, frame.next)
      guard position < header.count else {
        onStack.remove(frame.place.number)
        stack.removeLast()
        continue
      }
      stack[stack.count - 1].next += 1
      if frame.classIndex != nil, !frame.hasSkippedClass, isClassKey(position, of: header) {
        stack[stack.count - 1].hasSkippedClass = true
        continue
      }
      let kind = try step(holder: frame.holder) { () throws(ArchiveError) in
        try list.reference(header, header.kind == .dictionary ? header.count + position : position)
      }
      if let index = frame.classIndex, let key = try? list.reference(header, position) {
        classes[index].fields[key, default: [:]][kind, default: 0] += 1
      }
    }
  }

  private func isClassKey(_ position: Int, of header: ObjectHeader) -> Bool {
    let list = graph.list
    return (try? list.isString(list.header(list.reference(header, position)), "$class")) ?? false
  }

  /// Visits one value. A collection that was not visited before is pushed on the stack.
  private mutating func step(
    holder: Int? = nil, _ reference: () throws(ArchiveError) -> Int
  ) throws(ArchiveError) -> Kind {
    referencesLeft -= 1
    guard referencesLeft >= 0 else {
      throw ArchiveError(
        .limitExceeded, "the archive has more references than bytes: its collections overlap",
        path: graph.list.bytes.path)
    }
    let kind: Kind
    do throws(ArchiveError) {
      kind = try visit(graph.place(of: reference(), holder: holder), holder: holder)
    } catch {
      guard error.code != .io, error.code != .damaged else { throw error }
      problemCount += 1
      if problems.count < 100 { problems.append(error) }
      kind = .unreadable
    }
    kinds[kind, default: 0] += 1
    return kind
  }

  private mutating func visit(_ place: ArchiveGraph.Place?, holder: Int?) throws(ArchiveError) -> Kind {
    guard let place else { return .plain(.null) }
    guard place.header.kind.isCollection else {
      return place.uid == nil ? .inline(place.header.kind) : .plain(place.header.kind)
    }
    if visited.contains(place.number) {
      if onStack.contains(place.number) { isCyclic = true }
      let known = place.uid == nil ? nil : classesOfCollections[place.number]
      return known.map { .object($0) } ?? .plain(place.header.kind)
    }
    var classIndex: Int?
    if let (number, description) = try graph.objectClass(of: place) {
      classIndex = classIndexes[number]
      if classIndex == nil {
        classIndex = classes.count
        classIndexes[number] = classes.count
        classes.append(Class(description: description))
      }
    }
    visited.insert(place.number)
    onStack.insert(place.number)
    // The keys of a dictionary take bytes too.
    if place.header.kind == .dictionary { referencesLeft -= place.header.count }
    if let classIndex {
      classesOfCollections[place.number] = classIndex
      classes[classIndex].count += 1
    }
    stack.append(Frame(place: place, holder: place.uid ?? holder, classIndex: classIndex))
    return classIndex.map { .object($0) } ?? .plain(place.header.kind)
  }

  func result() throws(ArchiveError) -> ArchiveInspection {
    // An archive that was merged from several others may describe a class more than once.
    var merged: [ArchivedClass: (count: Int, fields: [String: [Kind: Int]])] = [:]
    for one in classes {
      var entry = merged[one.description] ?? (0, [:])
      entry.count += one.count
      for (key, kinds) in one.fields {
        let name = try name(ofKey: key)
        entry.fields[name, default: [:]].merge(kinds, uniquingKeysWith: +)
      }
      merged[one.description] = entry
    }
    let classes = merged.map { description, entry in
      ArchiveInspection.Class(
        description: description, count: entry.count,
        fields: entry.fields.map { name, kinds in
          let isInline = kinds.keys.contains { if case .inline = $0 { true } else { false } }
          return ArchiveInspection.Field(
            name: name, count: kinds.values.reduce(0, +), kinds: counted(kinds), isInline: isInline)
        }.sorted { $0.name < $1.name })
    }.sorted { ($1.count, $0.description.name) < ($0.count, $1.description.name) }
    return ArchiveInspection(
      objectCount: classes.reduce(0) { $0 + $1.count }, isCyclic: isCyclic, classes: classes,
      kinds: counted(kinds), problems: problems, problemCount: problemCount)
  }

  /// The name of a key. A long key is replaced by a note of its length, because many long keys can share their bytes.
  private func name(ofKey number: Int) throws(ArchiveError) -> String {
    let header = try graph.list.header(number)
    guard header.kind.isString else { return "(\(header.kind.words))" }
    guard header.count <= 256 else { return "(a key of \(header.count) characters)" }
    return ArchivedFields.name(ofKey: try graph.list.string(header))
  }

  /// The counts by name, the largest first. Classes with the same name are counted together.
  private func counted(_ kinds: [Kind: Int]) -> [(kind: String, count: Int)] {
    var words: [String: Int] = [:]
    for (kind, count) in kinds { words[word(kind), default: 0] += count }
    return words.map { (kind: $0.key, count: $0.value) }.sorted { ($1.count, $0.kind) < ($0.count, $1.kind) }
  }

  private func word(_ kind: Kind) -> String {
    switch kind {
    case .plain(let kind), .inline(let kind): Self.word(kind)
    case .unreadable: "unreadable"
    case .object(let index): classes[index].description.name
    }
  }

  private static func word(_ kind: ObjectKind) -> String {
    switch kind {
    case .null: "null"
    case .bool: "bool"
    case .integer: "integer"
    case .real: "real"
    case .date: "date"
    case .data: "data"
    case .asciiString, .utf16String: "string"
    case .uid: "reference"
    case .array, .set: "array"
    case .dictionary: "dictionary"
    }
  }
}
