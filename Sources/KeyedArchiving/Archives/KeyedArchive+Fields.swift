package import PropertyLists

/// Access without decoding, for readers of millions of objects whose form they know.
extension KeyedArchive {
  /// The object numbers of the entries, by UID.
  @inline(__always)
  package var entries: References { graph.objects }

  /// The fields of an entry in place, or nil if the entry is not an object or a dictionary.
  ///
  /// Nothing is allocated, and no class is looked up.
  ///
  /// - Throws: `ArchiveError` if there is no such entry, or it can't be read.
  @inline(__always)
  package func fields(of uid: Int) throws(ArchiveError) -> FieldReferences? {
    try FieldReferences(graph.list, dictionary: graph.objects.number(at: uid))
  }

  /// The object number of the entry that a value refers to, or of the value itself if it is not a reference. Nil for
  /// nil.
  ///
  /// - Throws: `ArchiveError` with code `danglingReference` if there is no such entry.
  @inline(__always)
  package func resolve(_ number: Int) throws(ArchiveError) -> Int? {
    let header = try graph.list.header(number)
    guard header.kind == .uid else { return try graph.place(of: number, holder: nil)?.number }
    let uid = try graph.list.uid(header)
    return uid == 0 ? nil : try graph.number(ofEntry: UInt64(uid), from: nil)
  }
}
