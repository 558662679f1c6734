import Files

package struct LayerFooters: Sendable {
  let folder: JournalFolder

  package init(folder: JournalFolder) { self.folder = folder }

  /// The names of all footers, oldest first.
  package func names() throws(JournalError) -> [LayerName] {
    guard let snapshots = try folder.openSnapshots() else { return [] }
    return try snapshots.names().compactMap(LayerName.init(footerName:)).sorted()
  }

  /// The footer file of that name; nil if there is none.
  /// - Throws: ``JournalError`` if the file is temporarily unreadable. A damaged file is returned without a footer.
  package func footer(_ name: LayerName) throws(JournalError) -> FooterFile? {
    guard let snapshots = try folder.openSnapshots() else { return nil }
    do throws(JournalError) {
      return try FooterFile(name, in: snapshots)
    } catch {
      if error.code == .notFound { return nil }
      throw error
    }
  }

  func all() throws(JournalError) -> [FooterFile] {
    var footers: [FooterFile] = []
    for name in try names() {
      if let footer = try footer(name) { footers.append(footer) }
    }
    return footers
  }

  /// The newest layer or snapshot that ends after a revision; nil if none of these has a readable footer.
  package func newest(after revision: Revision) throws(JournalError) -> FooterFile? {
    for name in try names().reversed() where name.to > revision {
      if let footer = try footer(name), footer.footer != nil { return footer }
    }
    return nil
  }

  /// Writes a footer durably; the layer's file must be durable already.
  func write(_ name: LayerName, _ footer: LayerFooter) throws(JournalError) {
    let snapshots = try folder.makeSnapshots()
    try snapshots.write(name.footerName, footer.encoded())
    try snapshots.flush()
  }

  func remove(_ names: [LayerName]) throws(JournalError) {
    guard !names.isEmpty, let snapshots = try folder.openSnapshots() else { return }
    for name in names { try snapshots.removeFile(name.footerName) }
    // Without this flush, a power loss could leave a footer without its file.
    try snapshots.flush()
    for name in names { try snapshots.removeFile(name.fileName) }
  }
}

/// The file of a footer, next to the file of the layer or snapshot.
package struct FooterFile: Sendable, Equatable {
  package let name: LayerName
  /// The footer; nil if it can't be read, and then the layer is not used.
  package let footer: LayerFooter?
  /// Why the footer can't be read; nil if it was read.
  let problem: JournalError?

  init(_ name: LayerName, _ footer: LayerFooter) {
    self.name = name
    self.footer = footer
    problem = nil
  }

  /// - Throws: ``JournalError`` if the file is missing or temporarily unreadable. If it is damaged, `footer` is nil.
  init(_ name: LayerName, in folder: Folder) throws(JournalError) {
    self.name = name
    do throws(JournalError) {
      let bytes = try folder.file(name.footerName, .reading).contents(limit: Self.byteLimit)
      guard let footer = try? LayerFooter(encoded: bytes) else {
        throw JournalError(.damaged, "it is altered, or of another version")
      }
      guard footer.top.revision == name.to, footer.start.revision == name.from ?? 0 else {
        throw JournalError(.damaged, "it is that of another file")
      }
      self.footer = footer
      problem = nil
    } catch {
      guard error.code == .damaged else { throw error }
      footer = nil
      problem = JournalError(
        .damaged, "the footer of the \(name.noun) can't be read: \(error.message)", revision: name.to,
        path: folder.path(of: name.footerName))
    }
  }

  /// The most bytes of a footer, enough for a layer of 1 TiB.
  private static let byteLimit = 1 << 30 + 1 << 20

  package static func == (left: FooterFile, right: FooterFile) -> Bool {
    left.name == right.name && left.footer == right.footer
      && left.problem?.description == right.problem?.description
  }
}
