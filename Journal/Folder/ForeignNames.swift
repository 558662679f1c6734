import Files

/// Something in a journal's folder that is not a part of the journal.
package struct ForeignName: Sendable {
  /// Whether the journal ignores the file or folder: one of another program, such as an editor, a file manager or a
  /// sync program. A name that could be mistaken for a part of the journal is not ignored.
  package let isIgnored: Bool
  /// The path within the journal's folder.
  let name: String
  /// Says what the file or folder is, and where.
  package let error: JournalError
}

extension JournalFolder {
  enum Part: String, CaseIterable {
    case root = ""
    case entries
    case images
    case snapshots

    /// The kind of file that the journal has under a name; nil if the name is not one of the journal's.
    func kind(of name: String, _ storage: any LogStorage) -> FileStatus.Kind? {
      let suffix = Folder.temporarySuffix
      let finished = name.hasSuffix(suffix) ? String(name.dropLast(suffix.count)) : name
      switch self {
      case .root:
        switch finished {
        case "FORMAT", "HEAD", JournalReceipt.fileName, ReplacementRecord.fileName, sharedName: return .file
        case Part.entries.rawValue, Part.images.rawValue, Part.snapshots.rawValue: return .folder
        default: return nil
        }
      case .entries: return storage.isFile(name) || name == HistoryBase.fileName ? .file : nil
      case .images: return BlobNames.isDigest(name) || BlobNames.isUnfinished(name) ? .file : nil
      case .snapshots:
        return (LayerName(fileName: finished) ?? LayerName(footerName: finished)) == nil ? nil : .file
      }
    }

    /// Whether a foreign name could be that of a copy which a sync program has made because two machines have written
    /// the same file: `HEAD (conflicted copy 2026-11-28)`, `HEAD-DESKTOP`, `000005.sync-conflict-20261128.ldb`,
    /// `HEAD..path1`.
    private func isConflictedCopy(_ name: String, _ storage: any LogStorage) -> Bool {
      let isConflict = ["conflict", "..path1", "..path2"].contains { name.lowercased().contains($0) }
      return name.indices.contains { start in
        guard " \u{a0}-_.([（".contains(name[start]) else { return false }
        let stem = String(name[..<start])
        // On a disk that ignores case, a program may have changed the case of the name.
        if isConflict, [stem, stem.uppercased()].contains(where: { kind(of: $0, storage) != nil }) {
          return true
        }
        let ending = name[start...].lastIndex(of: ".").map { name[$0...] } ?? ""
        return kind(of: stem + ending, storage) != nil
      }
    }

    /// The program that gives such names to its files in a database; nil if it is unknown.
    fileprivate func writer(of name: String) -> String? {
      guard self == .entries else { return nil }
      if name.wholeMatch(of: /CURRENT\.(bak|[0-9]+)|[0-9]{6,}\.tmp/) != nil {
        return "another LevelDB, goleveldb"
      }
      let isOfRocksDB =
        name == "IDENTITY" || ["OPTIONS-", "LOG.old.", "marker."].contains { name.hasPrefix($0) }
      return isOfRocksDB ? "another database, RocksDB or Pebble" : nil
    }

    /// - Parameter isOwnName: whether the journal uses that name, but for something else.
    fileprivate func foreign(
      _ name: String, _ kind: FileStatus.Kind, isOwnName: Bool, at path: String, _ storage: any LogStorage
    ) -> ForeignName {
      let noun = kind == .folder ? "folder" : "file"
      let isIgnored = !isOwnName && !isConflictedCopy(name, storage)
      let message =
        if isIgnored {
          "this \(noun) is ignored: "
            + (writer(of: name).map { "it was written by \($0)" } ?? "it is not part of the journal")
        } else if !isOwnName {
          "this \(noun) could be a conflicted copy, as sync programs make them if two machines have written to a "
            + "journal; move it elsewhere"
        } else if kind == .link {
          "a journal has no symbolic links; writing through one would destroy its target"
        } else {
          "this \(noun) is not part of a journal; move it elsewhere"
        }
      return ForeignName(
        isIgnored: isIgnored, name: self == .root ? name : "\(rawValue)/\(name)",
        error: JournalError(.notAJournal, message, path: path))
    }
  }

  /// Everything in the folder that is not a part of the journal, except files that file managers leave in any folder.
  /// - Complexity: O(n) in the number of names; no file is opened.
  package func foreignNames(_ storage: any LogStorage) throws(JournalError) -> [ForeignName] {
    var foreign: [ForeignName] = []
    for part in Part.allCases {
      // A link in place of a folder is not opened.
      guard foreign.allSatisfy(\.isIgnored) else { break }
      guard let folder = part == .root ? root : try openFolder(part.rawValue) else { continue }
      try unsafe folder.forEachName { name, kind in
        if part == .images, kind == .file, unsafe BlobNames.hasFormOfDigest(name) { return true }
        let name = unsafe String(cString: name)
        let own = part.kind(of: name, storage)
        if own != kind, !System.isLitter(name) {
          foreign.append(
            part.foreign(name, kind, isOwnName: own != nil, at: folder.path(of: name), storage))
        }
        return true
      }
    }
    return foreign.sorted { $0.name < $1.name }
  }

  /// Fails if something could be mistaken for a part of the journal. Reports names that are ignored.
  func checkNames(_ options: JournalOptions) throws(JournalError) {
    let foreign = try foreignNames(options.logStorage)
    if let other = foreign.first(where: { !$0.isIgnored }) { throw other.error }
    guard let first = foreign.first else { return }
    let rest = foreign.count == 1 ? "" : " (and \(foreign.count - 1) more, which verify lists)"
    options.note(
      .warning, "the journal's folder has files of other programs: \(first.name)\(rest)", cause: first.error)
  }
}
