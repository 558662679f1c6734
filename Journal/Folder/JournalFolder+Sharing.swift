import Files

extension JournalFolder {
  /// The file SHARED: the address of the shared log. The folder `entries` then has the entries that this node has seen.
  package static let sharedName = "SHARED"

  /// The address of the shared log; nil if the journal is not shared. Administrators edit the file, so line feeds may
  /// be missing, superfluous, or preceded by carriage returns.
  /// - Throws: ``JournalError``: `newerFormat`, or `damaged` if the file has another form.
  package func sharedAddress() throws(JournalError) -> String? {
    guard
      let bytes = try root.contents(of: Self.sharedName, limit: 64 << 10)?
        .filter({ $0 != UInt8(ascii: "\r") })
    else { return nil }
    try FileVersion.check(bytes, is: "shared", path: root.path(of: Self.sharedName))
    let lines = String(decoding: bytes, as: UTF8.self).split(
      separator: "\n", omittingEmptySubsequences: false)
    guard lines.count >= 2, lines[0] == "shared 1",
      lines.indices.allSatisfy({ ($0 < 2) != lines[$0].allSatisfy(\.isWhitespace) })
    else {
      throw JournalError(
        .damaged,
        "SHARED does not have the address of the shared log; write two lines into it, \"shared 1\" and the address, or "
          + "join the shared journal again in another folder",
        path: root.path(of: Self.sharedName))
    }
    return String(lines[1])
  }

  /// Fails for a shared journal, whose log can't be replaced in one node only.
  package func checkIsNotShared() throws(JournalError) {
    guard try sharedAddress() != nil else { return }
    throw JournalError(
      .wrongUse, "the journal's log is shared with other nodes; make it local with unshare first", path: path)
  }
}
