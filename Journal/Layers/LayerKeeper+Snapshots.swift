import Locks

/// Snapshots are taken and dropped by requests that the thread of layers runs.
extension LayerKeeper {
  /// Writes a snapshot of a state, and returns when the file and its footer are durable.
  /// - Parameter isNewest: whether the state is the newest one. If so, a layer of all changes that are in no layer is
  ///   requested too, so that the next opening has nothing to replay.
  /// - Throws: ``JournalError`` with code `closed` if the journal is closed in the meantime.
  func take(
    _ version: Version<State>, eventCount: Int, isNewest: Bool, freezing freeze: @escaping Freeze
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
      self.faults.forgetDamage(of: [name])
      self.report("a snapshot of revision \(revision) was written: \(footer.byteCount) bytes", top)
      if isNewest { self.requestLayer() }
      return FooterFile(name, footer)
    }
  }

  /// Removes a snapshot.
  /// - Throws: ``JournalError`` with code `notFound` if there is no snapshot of the revision.
  func drop(_ revision: Revision, freezing freeze: @escaping Freeze) throws(JournalError) {
    try request(freezing: freeze) { () throws(JournalError) in
      let name = LayerName(from: nil, to: revision)
      guard try self.chain.footers.names().contains(name) else {
        throw JournalError(.notFound, "there is no snapshot of that revision", revision: revision)
      }
      try self.chain.footers.remove([name])
      self.faults.forgetDamage(of: [name])
    }
  }
}
