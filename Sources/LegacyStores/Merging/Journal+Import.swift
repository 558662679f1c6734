public import CatalogModel
import Foundation

extension Journal where State == Catalog {
  /// Imports an app's files into the journal.
  ///
  /// ```swift
  /// let report = try journal.importStore(.scaryBugs(in: privateDocuments))
  /// print(report.added, "bugs;", report.problems.count, "things to know")
  /// ```
  ///
  /// The first import adds everything, in one entry or in one for each `entrySize` items or 16 MiB of them. A later
  /// import of the same store updates the items of changed elements, adds new ones and deletes removed ones. Nothing
  /// else changes, and unchanged files make no entry. What people added in the journal stays. If the files have changed
  /// the same attribute, the file's value is used, the report says so, and the history has both.
  /// - Parameters:
  ///   - store: the store to import. Its ``LegacyStore/name`` distinguishes it from other stores of the same source.
  ///   - author: the entries' author.
  ///   - note: the entries' note. If it is nil, the note says what was imported.
  ///   - entrySize: how many items an entry may change. An entry also ends after 16 MiB of items. If any items refer to
  ///     each other, all changes are in one entry.
  ///   - progress: called regularly with the number of images that were read, and the number of all images.
  /// - Returns: what was done. Its problems begin with those of the store.
  /// - Throws: ``JournalError`` if the journal can't be read or written. Earlier entries stay, and a later import
  ///   continues from there.
  @discardableResult
  public func importStore(
    _ store: LegacyStore, by author: String = "", note: String? = nil, entrySize: Int = 100_000,
    progress: (_ done: Int, _ total: Int) -> Void = { _, _ in }
  ) throws -> LegacyImportReport {
    var report = LegacyImportReport()
    report.problems = store.problems
    let images = store.items.flatMap(\.images) + store.images
    let intake = images.isEmpty ? nil : BlobIntake(self)
    // The paths of pictures that could not be read.
    var unread: Set<String> = []
    let stored = zip(images, try intake?.take(images) { progress($0, images.count) } ?? []).map {
      image, result in
      do { return try result.get() } catch {
        report.note(image.name, "\(error)", isLoss: true)
        if case .file(_, let folder, let name) = image.content { unread.insert("\(folder)/\(name)") }
        return nil
      }
    }
    var rest = stored[...]
    let blobs = store.items.map { item in
      defer { rest = rest.dropFirst(item.images.count) }
      return Array(rest.prefix(item.images.count))
    }
    var names: Set<[String]> = []
    let digests = store.items.map { Digests($0.attributes.mapValues(\.digest), sharing: &names) }
    var metadata = ["import.source": store.source.rawValue]
    if !store.name.isEmpty { metadata["import.store"] = store.name }
    let note = note ?? "import of \(store.source.rawValue)\(store.name.isEmpty ? "" : " \(store.name)")"
    let limit = StoreMerge.Budget(itemCount: max(1, entrySize), byteCount: 16 << 20)
    var isComplete = false
    // What the latest entry found out. It holds for the next entry if no other one came between. It is moved into that
    // entry, because a copy of a million rows takes much memory; if the commit runs again, the entry begins anew.
    var latest: (revision: Revision, merge: StoreMerge)?
    while !isComplete {
      let commit = try commit(by: author, note: note, metadata: metadata) { draft in
        var merge: StoreMerge
        if let known = latest.take(), draft.revision == known.revision + 1 {
          merge = known.merge
        } else {
          let memory = ImportMemory(draft.state, store.source, name: store.name)
          try memory.checkForm()
          merge = StoreMerge(
            store, digests: digests, blobs: blobs, ownBlobs: Array(rest), memory, limit: limit)
          merge.store.incompleteFiles.formUnion(unread)
        }
        return (try merge.run(&draft), merge)
      }
      isComplete = commit.value.0
      latest = (commit.revision, commit.value.1)
      report.add(commit.value.1.report, isLast: isComplete)
      if !commit.isEmpty { report.revisions.append(commit.revision) }
      // If nothing was done, nothing is left to do.
      if commit.isEmpty { break }
    }
    for (reason, items) in (latest?.merge.rejections ?? [:]).sorted(by: { $0.key < $1.key }) {
      report.problems.append(LegacyProblem(items, rejectedBecause: reason))
    }
    return report
  }
}

extension LegacyImportReport {
  fileprivate mutating func add(_ other: LegacyImportReport, isLast: Bool) {
    added += other.added
    updated += other.updated
    deleted += other.deleted
    categories += other.categories
    images += other.images
    // A problem of one entry is found again by the next one.
    var known = Set(problems.map(\.description))
    for problem in other.problems where known.insert(problem.description).inserted {
      problems.append(problem)
    }
    // Items of the previous entries now count as unchanged.
    if isLast { unchanged = other.unchanged - (added - other.added) - (updated - other.updated) }
  }
}
