/// What to erase from a journal: the payloads of entities, and the annotations of entries.
///
/// An erased part is replaced by its digest, so the digest of its entry and the whole chain do not change. The
/// checkpoints of all states that had an erased payload are erased too: they are digests of erased content, and no
/// replay makes those states any more.
struct Erasure: Sendable {
  /// The entities whose payloads are all erased.
  var entities: Set<EntityKey>
  /// The entries whose author, note and metadata are erased.
  var annotations: Set<Revision>
  /// The first entry with an erased payload; the head of the base, if something in its state was erased.
  var firstErased: Revision?

  /// The entry without the content to erase; its digest stays. Called for entries in order.
  mutating func erase(_ entry: SealedEntry) throws(JournalError) -> SealedEntry {
    let (bytes, erasesPayloads) = try entry.decode { decoder throws(JournalError) in
      try decoder.erasing(self, firstErased: firstErased)
    }
    if erasesPayloads, firstErased == nil { firstErased = entry.revision }
    return SealedEntry(revision: entry.revision, bytes: bytes, digest: entry.digest)
  }
}

extension EntryDecoder {
  /// The bytes of the entry without the content to erase.
  /// - Parameter firstErased: the first entry with an erased payload.
  fileprivate func erasing(
    _ erasure: Erasure, firstErased: Revision?
  ) throws(JournalError) -> (bytes: [UInt8], erasesPayloads: Bool) {
    try reading { reader throws(CBORError) in
      let outline = try reader.readHeader(at: revision)
      var events = outline.events
      var writer = CBORWriter()
      unsafe writer.append(encoded: reader.passed(0..<reader.offset))
      let count = try reader.readPartCount(outline)
      writer.appendArrayHead(count: count)
      var erasesPayloads = false
      for index in 0..<count {
        let erases: Bool
        if index == 0 {
          erases = erasure.annotations.contains(revision)
        } else if index <= outline.eventCount {
          let event = try events.readEventHead()
          // A deletion has no content.
          erases = erasure.entities.contains(event.entity) && event.operation != .delete
          erasesPayloads = erasesPayloads || erases
        } else if index == outline.eventCount + 1, let checkpoint = outline.header.checkpointRevision {
          erases = firstErased.map { $0 <= checkpoint } ?? false
        } else {
          erases = false
        }
        let start = reader.offset
        let part = try reader.readPart()
        if case .whole(let part) = part, erases {
          writer.append(tag: EntryCoding.erasedTag)
          unsafe EntrySeal.digest(part: part).withUnsafeBytes { unsafe writer.append(bytes: $0) }
        } else {
          unsafe writer.append(encoded: reader.passed(start..<reader.offset))
        }
      }
      try reader.expectEnd()
      return (writer.finish(), erasesPayloads)
    }
  }
}
