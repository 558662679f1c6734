import PropertyLists

/// Compares the layers and snapshots of a journal with the states that a replay passes through.
///
/// A layer is right if it has at each of its checkpoints what the entries since the previous checkpoint have changed,
/// and nothing else. If each layer is right, so is every stack of layers that a state can be opened from, and proving
/// all of them takes time in proportion to what they hold. A snapshot is right if writing it again gives the same bytes.
package struct SnapshotVerifier<State: EventSourced> {
  private let chain: LayerChain
  private let isDeep: Bool
  private var subjects: [Subject<State>] = []
  package private(set) var layerCount = 0
  package private(set) var snapshotCount = 0

  package init(_ chain: LayerChain, isDeep: Bool) {
    self.chain = chain
    self.isDeep = isDeep
  }

  package mutating func read(through revision: Revision) throws(JournalError) {
    for record in try chain.footers.all() where record.name.to <= revision {
      subjects.append(Subject(record, chain, isDeep: isDeep))
    }
  }

  /// Compares the checkpoints of a revision with its state, and returns the problems of files that end there.
  /// - Parameters:
  ///   - state: the state that the entries up to that revision make.
  ///   - head: the newest of these entries.
  /// - Throws: ``JournalError`` with code `outOfResources`, which is no problem of a file.
  package mutating func check(
    _ state: State, _ eventCount: Int, _ head: Head
  ) throws(JournalError) -> [JournalError] {
    var problems: [JournalError] = []
    for index in subjects.indices {
      subjects[index].check(state, eventCount, head)
      if let problem = subjects[index].problem, problem.code == .outOfResources { throw problem }
      guard subjects[index].name.to <= head.revision else { continue }
      let subject = subjects[index]
      // A file that was dropped, merged or rewritten in the meantime is not a problem.
      if subject.problem != nil, (try? chain.footers.footer(subject.name)) != subject.record { continue }
      if subject.name.from == nil { snapshotCount += 1 } else { layerCount += 1 }
      if let problem = subject.problem { problems.append(problem) }
    }
    subjects.removeAll { $0.name.to <= head.revision }
    return problems
  }
}

/// A layer or a snapshot that is being checked.
///
/// Its file is open while the replay passes its checkpoints. Layers follow one another, so few are open at a time.
private struct Subject<State: EventSourced> {
  let record: FooterFile
  private(set) var problem: JournalError?
  private let chain: LayerChain
  /// The shape of the states to compare with; nil if the file is only read.
  private let shape: StateShape?
  private var isOpened = false
  private var contents: LayerFile?
  /// The number of checkpoints that were passed, and the state at the last one.
  private var passed = 0
  private var before: StateParts?
  /// The number of the layer's versions by checkpoint and kind, and its lines by checkpoint and index.
  private var versionCounts: [[Int]] = []
  private var lines: [[[LineVersion]]] = []

  /// The bytes of a file in memory beyond which the file is opened again, which frees them.
  private static var memoryByteCount: Int { 8 << 20 }

  var name: LayerName { record.name }
  private var path: String { chain.path(of: name) }

  init(_ record: FooterFile, _ chain: LayerChain, isDeep: Bool) {
    self.record = record
    self.chain = chain
    problem = record.problem
    // A file of another version of the model is never used for states, so reading it is enough.
    shape = isDeep && record.footer?.schema == State.schema ? chain.shape : nil
    if shape != nil, record.footer?.start.revision == 0 { before = State().parts }
  }

  /// Checks all pages of the file, and prepares the comparisons at its checkpoints.
  private mutating func open(_ footer: LayerFooter) {
    isOpened = true
    do throws(JournalError) {
      if chain.isOutdated(footer) { throw chain.outdated(name) }
      try chain.checkAllPages(name, footer)
      guard let shape, name.from != nil else { return }
      try reopen(footer)
      guard let contents else { return }
      if footer.start.revision == 0, footer.start != .start(shape) { return failAtStart() }
      do throws(ArchiveError) { try sort(contents, footer, shape) } catch {
        throw LayerFile.failure(error, of: name, path)
      }
    } catch {
      problem = error
    }
  }

  private mutating func reopen(_ footer: LayerFooter) throws(JournalError) {
    contents = nil
    contents = try chain.contents(name, footer)
  }

  /// Assigns each version and each line to the first checkpoint at which it is visible.
  private mutating func sort(
    _ contents: LayerFile, _ footer: LayerFooter, _ shape: StateShape
  ) throws(ArchiveError) {
    let revisions = footer.checkpoints.map(\.revision)
    versionCounts = revisions.map { _ in shape.kinds.map { _ in 0 } }
    lines = revisions.map { _ in shape.indexes.map { _ in [] } }
    let definitions = contents.definitions
    // Sequential, because the contents are read once, and their pages need not be kept.
    let contents = try contents.sequential()
    for kind in shape.kinds.indices {
      let next = try contents.versions(kind)
      while let version = try next() {
        let checkpoint = revisions.partitioningIndex { $0 >= version.revision }
        guard version.revision > footer.start.revision, checkpoint < revisions.count else { throw foreign }
        versionCounts[checkpoint][kind] += 1
      }
    }
    for index in shape.indexes.indices {
      let next = try contents.lines(index)
      while let line = try next() {
        let checkpoint = revisions.partitioningIndex { $0 >= line.revision }
        guard line.revision > footer.start.revision, checkpoint < revisions.count else { throw foreign }
        lines[checkpoint][index].append(line)
      }
    }
    // The entities are compared with the log, so it is enough to compare declared indexes with the entities.
    for definition in definitions where definition.content != .values {
      guard let found = contents.words(definition),
        try found.agrees(with: contents.scannedWords(definition))
      else { throw ArchiveError(.damaged, "an index does not match the entities") }
    }
    for definition in definitions where definition.content == .values {
      let expected = try ScannedValueLines(contents, definition)
      let found = try contents.knownOrScannedLines(definition)
      for position in 0..<max(found.count, expected.count) {
        guard position < min(found.count, expected.count),
          try found.line(at: position) == expected.line(at: position)
        else { throw ArchiveError(.damaged, "an index does not match the entities") }
      }
    }
  }

  private var foreign: ArchiveError { LayerReader.foreign(at: 0) }

  mutating func check(_ state: State, _ eventCount: Int, _ head: Head) {
    // If history was pruned, the first call is for the base.
    if head.revision > name.to { return fail("the \(name.noun) ends before the pruned history begins") }
    compare(state, eventCount, head)
    // A pruning removes all layers and snapshots, so a file with a state from before the base is foreign.
    if head.revision == name.to, shape != nil, passed < record.footer?.checkpoints.count ?? 0 {
      fail(
        "the \(name.noun) has a state from before the pruned history begins, which can't be compared")
    }
  }

  private mutating func compare(_ state: State, _ eventCount: Int, _ head: Head) {
    guard problem == nil, let footer = record.footer else { return }
    if !isOpened, head.revision >= footer.checkpoints.first?.revision ?? name.to { open(footer) }
    if problem == nil, head.revision == name.to, head.digest != footer.entryDigest {
      return fail("the \(name.noun) belongs to an entry that is not in the log")
    }
    guard problem == nil, let shape else { return }
    if name.from == nil {
      if head.revision == name.to { compareSnapshot(state, eventCount, head, footer) }
      return
    }
    if head.revision == footer.start.revision {
      before = state.parts
      let start = before.map { LayerCheckpoint(revision: head.revision, eventCount: eventCount, $0) }
      if start != footer.start { failAtStart() }
      return
    }
    guard passed < footer.checkpoints.count, footer.checkpoints[passed].revision == head.revision else {
      return
    }
    if (contents?.bytes.pageByteCount ?? 0) > Self.memoryByteCount {
      do throws(JournalError) { try reopen(footer) } catch {
        problem = error
        return
      }
    }
    guard let parts = state.parts, let before, let contents else { return }
    let checkpoint = LayerCheckpoint(revision: head.revision, eventCount: eventCount, parts)
    do throws(ArchiveError) {
      let start = passed == 0 ? footer.start : footer.checkpoints[passed - 1]
      let expected = Memtable(parts, since: before, at: checkpoint, after: start)
      let isSame = try holds(expected, contents, parts, shape, asOf: head.revision)
      if !isSame || checkpoint != footer.checkpoints[passed] {
        fail("the \(name.noun) has a state that differs from the entries'")
      }
      if head.revision == name.to {
        try checkTop(parts, contents, footer, shape)
      }
    } catch {
      problem = LayerFile.failure(error, of: name, path)
    }
    self.before = parts
    passed += 1
  }

  /// Compares a snapshot with a new snapshot of the replayed state.
  private mutating func compareSnapshot(
    _ state: State, _ eventCount: Int, _ head: Head, _ footer: LayerFooter
  ) {
    passed += 1
    guard let parts = state.parts else { return }
    let top = LayerCheckpoint(revision: head.revision, eventCount: eventCount, parts)
    guard var header = chain.snapshotHeader(head, top) else { return }
    do throws(JournalError) {
      guard let about = try chain.about(name, footer) else { return }
      header.indexes = about.indexes
      var pages = PageChecksums()
      let source = WholeState(parts: parts, revision: head.revision)
      let digest = try? unsafe LayerWriter.write([source], header, to: { unsafe pages.append($0) })
      if digest == nil || digest != footer.stateDigest || footer.checkpoints != [top] {
        fail("the footer of the \(name.noun) names a state that differs from the entries'")
      } else if pages.finish() != footer.pageChecksums, about.text == LayerLayout.about(header) {
        // With another description, another version of this library has written the snapshot, and its bytes may differ.
        fail("the \(name.noun) has a state that differs from the entries'")
      }
    } catch {
      problem = error
    }
  }

  private mutating func failAtStart() {
    fail("the \(name.noun) begins at a state that differs from the entries'")
  }

  private mutating func fail(_ message: String) {
    problem = problem ?? JournalError(.damaged, message, revision: name.to, path: path)
  }

  /// Whether the layer has exactly the expected changes at the next checkpoint.
  private func holds(
    _ expected: Memtable, _ contents: LayerFile, _ parts: StateParts, _ shape: StateShape,
    asOf revision: Revision
  ) throws(ArchiveError) -> Bool {
    for kind in shape.kinds.indices {
      var count = 0
      let next = expected.versions(kind)
      let rows = contents.rows(kind)
      while let version = try next() {
        count += 1
        guard let found = try contents.version(kind, version.number, asOf: revision),
          found.revision == version.revision, found.isErased == version.isErased,
          try rows(found) == version.row
        else { return false }
      }
      if count != versionCounts[passed][kind] { return false }
    }
    for index in shape.indexes.indices {
      let next = expected.lines(index)
      while let line = try next() {
        if try contents.line(index, line.key, asOf: revision) != line.isThere { return false }
      }
      // A line that was inserted and removed again since the previous checkpoint is recorded as removed.
      for line in lines[passed][index]
      where parts.indexes[index].index.contains(line.key.member, in: line.key.group) != line.isThere {
        return false
      }
    }
    return true
  }

  private mutating func checkTop(
    _ parts: StateParts, _ contents: LayerFile, _ footer: LayerFooter, _ shape: StateShape
  ) throws(ArchiveError) {
    for list in shape.lists.indices {
      let texts = parts.lists[list].texts.texts(from: footer.start.textCounts[list])
      let found = contents.texts(list)
      guard found.count == texts.count,
        zip(found, texts).allSatisfy({ $0.utf8.elementsEqual($1.utf8) })
      else { return fail("the \(name.noun) has texts that differ from the entries'") }
    }
  }
}
