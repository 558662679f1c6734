import PropertyLists

/// The search behind `PropertyList.embeddedArchives()`. It is breadth first, so that the reported paths are short.
struct EmbeddedArchiveSearch {
  private struct Source {
    let list: PropertyList
    let graph: ArchiveGraph?
    let depth: Int
    let path: Int
    let index: Int
  }

  private struct Collection {
    let header: ObjectHeader
    let path: Int
  }

  private var paths = KeyPaths()
  private var sources: [Source] = []
  private var findings: [EmbeddedArchive] = []
  /// How many more bytes of data may be copied. A sound file needs no more than its size times the limit on nesting.
  private var bytesLeft: Int

  init(_ list: PropertyList) {
    let (bytes, overflow) = list.bytes.count.multipliedReportingOverflow(by: list.limits.nestedArchiveDepth)
    bytesLeft = overflow ? .max : bytes
    sources.append(
      Source(
        list: list, graph: try? ArchiveGraph(list), depth: 0, path: -1, index: paths.add(list)))
  }

  mutating func run() throws(ArchiveError) -> [EmbeddedArchive] {
    var next = 0
    while next < sources.count {
      try search(sources[next])
      next += 1
    }
    for index in findings.indices { findings[index].paths = paths }
    return findings
  }

  /// The state of the search in one property list.
  private struct Scan {
    let source: Source
    var visited: Bits
    /// The content of each data object that was opened; nil for data that is neither an archive nor a property list.
    var opened: [Int: EmbeddedArchive.Content?] = [:]
    var queue: [Collection] = []
    /// How many more references may be visited. Each reference of a sound file takes at least one byte.
    var referencesLeft: Int
  }

  private mutating func search(_ source: Source) throws(ArchiveError) {
    let list = source.list
    var scan = Scan(
      source: source, visited: Bits(count: list.objectCount), referencesLeft: list.bytes.count)
    if let graph = source.graph {
      scan.queue.append(Collection(header: graph.top.header, path: source.path))
    } else {
      try look(at: list.top, nil, after: source.path, &scan)
    }
    var next = 0
    while next < scan.queue.count {
      let collection = scan.queue[next]
      next += 1
      let header = collection.header
      let isDictionary = header.kind == .dictionary
      for position in 0..<header.count {
        let number = try list.reference(header, isDictionary ? header.count + position : position)
        let step: KeyPaths.Step =
          isDictionary ? .key(try list.reference(header, position)) : .element(position)
        try look(at: number, step, after: collection.path, &scan)
      }
    }
  }

  /// Visits the value at the next step of a path: enqueues a collection, and opens data.
  private mutating func look(
    at number: Int, _ step: KeyPaths.Step?, after parent: Int, _ scan: inout Scan
  ) throws(ArchiveError) {
    let source = scan.source
    scan.referencesLeft -= 1
    guard scan.referencesLeft >= 0 else { throw limitExceeded("more references than bytes", source.list) }
    guard let (number, header) = try place(of: number, in: source) else { return }
    // Only values that are searched or reported need a separate path.
    func path() -> Int { step.map { paths.add($0, after: parent, list: source.index) } ?? parent }
    if header.kind.isCollection {
      if scan.visited.insert(number) { scan.queue.append(Collection(header: header, path: path())) }
      return
    }
    guard header.kind == .data else { return }
    let range = header.start..<header.start + header.count
    let isNew = scan.opened[number] == nil
    let content: EmbeddedArchive.Content?
    if let known = scan.opened[number] {
      content = known
    } else {
      content = try open(range, in: source)
      scan.opened[number] = .some(content)
    }
    guard let content else { return }
    let place = path()
    findings.append(EmbeddedArchive(content: content, path: place))
    if isNew { enqueue(content, source, place) }
  }

  /// The place of a value. In an archive, references are followed. Nil if the value is nil, or a reference dangles.
  private func place(
    of number: Int, in source: Source
  ) throws(ArchiveError) -> (number: Int, header: ObjectHeader)? {
    guard let graph = source.graph else { return (number, try source.list.header(number)) }
    do throws(ArchiveError) {
      return try graph.place(of: number, holder: nil).map { ($0.number, $0.header) }
    } catch {
      guard error.code == .danglingReference else { throw error }
      return nil
    }
  }

  private mutating func open(
    _ range: Range<Int>, in source: Source
  ) throws(ArchiveError) -> EmbeddedArchive.Content? {
    let format = try DataFormat(of: source.list.bytes, in: range)
    guard format == .binaryPropertyList || format == .xmlPropertyList else { return nil }
    guard source.depth < source.list.limits.nestedArchiveDepth else {
      return .unreadable(
        ArchiveError(
          .limitExceeded, "archives are nested more than \(source.depth) deep",
          offset: range.lowerBound))
    }
    bytesLeft -= range.count
    guard bytesLeft >= 0 else { throw limitExceeded("data that overlap", source.list) }
    let bytes = ArchiveBytes(try source.list.bytes.data(in: range))
    do throws(ArchiveError) {
      let list = try PropertyList(bytes, limits: source.list.limits)
      return try KeyedArchive.isKeyedArchive(list) ? .keyedArchive(KeyedArchive(list)) : .propertyList(list)
    } catch {
      // XML that can't be opened is not reported, because it may be other XML or HTML.
      return format == .xmlPropertyList ? nil : .unreadable(error)
    }
  }

  private mutating func enqueue(_ content: EmbeddedArchive.Content, _ source: Source, _ path: Int) {
    let list: PropertyList
    let graph: ArchiveGraph?
    switch content {
    case .keyedArchive(let archive): (list, graph) = (archive.propertyList, archive.graph)
    case .propertyList(let plain): (list, graph) = (plain, nil)
    default: return
    }
    let inside = paths.add(.inside, after: path, list: source.index)
    sources.append(
      Source(list: list, graph: graph, depth: source.depth + 1, path: inside, index: paths.add(list)))
  }

  private func limitExceeded(_ reason: String, _ list: PropertyList) -> ArchiveError {
    ArchiveError(.limitExceeded, "the property list has \(reason)", path: list.bytes.path)
  }
}
