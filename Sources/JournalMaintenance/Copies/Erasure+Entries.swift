import CBOR
import Journaling

extension Erasure {
  /// Removes the content to erase from an entry, whose digest stays. Must be called for entries in order.
  mutating func erase(_ entry: SealedEntry) throws(JournalError) -> SealedEntry {
    let (parts, erasesPayloads) = try entry.decode { decoder throws(JournalError) in
      try decoder.parts(of: self)
    }
    if erasesPayloads, firstErased == nil { firstErased = entry.revision }
    return try entry.erasing(parts)
  }
}

extension SealedEntry {
  /// This entry without the parts that were erased from a copy of it.
  func erasing(_ copy: SealedEntry) throws(JournalError) -> SealedEntry {
    try erasing(copy.decode { decoder throws(JournalError) in try decoder.erasedParts() })
  }

  fileprivate func erasing(_ parts: Set<Int>) throws(JournalError) -> SealedEntry {
    if parts.isEmpty { return self }
    let bytes = try decode { decoder throws(JournalError) in try decoder.erasing(parts) }
    return SealedEntry(revision: revision, bytes: bytes, digest: digest)
  }
}

extension EntryDecoder {
  /// The numbers of the parts to erase, and whether payloads are among them.
  fileprivate func parts(of erasure: Erasure) throws(JournalError) -> (Set<Int>, erasesPayloads: Bool) {
    try reading { reader throws(CBORError) in
      let outline = try reader.readHeader(at: revision)
      var events = outline.events
      var parts: Set<Int> = []
      for index in 0..<outline.eventCount {
        let event = try events.readEventHead()
        // A deletion has no content.
        if erasure.entities.contains(event.entity), event.operation != .delete { parts.insert(1 + index) }
      }
      let erasesPayloads = !parts.isEmpty
      if erasure.annotations.contains(revision) { parts.insert(0) }
      if let checkpoint = outline.header.checkpointRevision, let first = erasure.firstErased,
        first <= checkpoint
      {
        parts.insert(1 + outline.eventCount)
      }
      return (parts, erasesPayloads)
    }
  }

  fileprivate func erasedParts() throws(JournalError) -> Set<Int> {
    try reading { reader throws(CBORError) in
      let outline = try reader.readHeader(at: revision)
      var parts: Set<Int> = []
      for index in 0..<(try reader.readPartCount(outline)) {
        if case .erased = try reader.readPart() { parts.insert(index) }
      }
      return parts
    }
  }

  /// The bytes of the entry, with some parts replaced by their digests.
  fileprivate func erasing(_ parts: Set<Int>) throws(JournalError) -> [UInt8] {
    try reading { reader throws(CBORError) in
      let outline = try reader.readHeader(at: revision)
      var writer = CBORWriter()
      unsafe writer.append(encoded: reader.passed(0..<reader.offset))
      let count = try reader.readPartCount(outline)
      writer.appendArrayHead(count: count)
      for index in 0..<count {
        let start = reader.offset
        let part = try reader.readPart()
        if case .whole(let part) = part, parts.contains(index) {
          writer.append(tag: EntryCoding.erasedTag)
          unsafe EntrySeal.digest(part: part).withUnsafeBytes { unsafe writer.append(bytes: $0) }
        } else {
          unsafe writer.append(encoded: reader.passed(start..<reader.offset))
        }
      }
      try reader.expectEnd()
      return writer.finish()
    }
  }
}
