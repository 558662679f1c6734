/// Taking and dropping snapshots: requests that the thread of layers runs.
extension LayerKeeper {
  /// Writes a whole state and returns when its file and its footer are durable.
  /// - Throws: ``JournalError`` with code `closed` if the journal is closed in the meantime.
  func take(
    _ version: Version<State>, eventCount: Int, freezing freeze: @escaping Freeze
  ) throws(JournalError) -> FooterFile {
    guard let parts = version.state.parts, let shape = chain.shape else {
      throw JournalError(.wrongUse, "\(State.schema) has no snapshots: its model has no parts")
    }
    let revision = version.revision
    let top = LayerCheckpoint(revision: revision, eventCount: eventCount, parts)
    return try request(freezing: freeze) { () throws(JournalError) in
      self.removeStrays()
      let name = LayerName(from: nil, to: revision)
      let footer = try self.write(
        [WholeState(parts: parts, revision: revision)], name, from: .start(shape), to: [top], generation: 1,
        replacesFile: try self.chain.footers.footer(name) != nil,
        large: LayerSchedule.LargeFile(end: 0, eventCount: eventCount))
      self.chain.add(try self.chain.open(name, footer))
      self.report("a snapshot of revision \(revision) was written: \(footer.byteCount) bytes", top)
      return FooterFile(name, footer)
    }
  }

  /// Drops the snapshot of a revision; states that it backs stay usable, and so do all checkpoints of layers.
  /// - Throws: ``JournalError`` with code `notFound` if there is none.
  func drop(_ revision: Revision, freezing freeze: @escaping Freeze) throws(JournalError) {
    try request(freezing: freeze) { () throws(JournalError) in
      let name = LayerName(from: nil, to: revision)
      guard try self.chain.footers.names().contains(name) else {
        throw JournalError(.notFound, "there is no snapshot of that revision", revision: revision)
      }
      if let snapshot = self.chain.layers.first(where: { $0.name == name }) {
        try self.keepReach(without: snapshot)
      }
      self.chain.remove([name])
      try self.chain.footers.remove([name])
    }
  }

  /// Writes the changes between the last checkpoint below a snapshot and the snapshot into a layer, if a layer or the
  /// newest state begins at the snapshot. Without it, nothing would lead to them.
  private func keepReach(without snapshot: Layer) throws(JournalError) {
    let top = snapshot.top
    let reached = chain.stack(atOrBefore: top.revision, without: snapshot)?.checkpoint
    let start = reached ?? snapshot.start
    guard start.revision < top.revision else { return }
    let newest = LayerStack.backing(published.version.state)?.checkpoint.revision
    guard
      policy.isAutomatic && newest == top.revision
        || chain.layers.contains(where: { (start.revision + 1...top.revision).contains($0.start.revision) })
    else { return }
    let name = LayerName(from: start.revision, to: top.revision)
    // Without layers below, the snapshot has what changed since the empty state.
    let source: any LayerSource =
      if reached == nil { try chain.source(snapshot) } else { try chain.changes(after: start, to: top) }
    let footer = try write(
      [source], name, from: start, to: [top], generation: 1,
      large: LayerSchedule.LargeFile(end: top.revision, eventCount: top.eventCount - start.eventCount))
    chain.add(try chain.open(name, footer))
  }
}
