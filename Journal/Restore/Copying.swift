public import Foundation

extension Journal {
  /// Makes another journal of the state at a point in time, as one entry and without the history before it. Entities
  /// keep their numbers.
  /// - Throws: as ``copy(to:through:progress:)``.
  public func copyState(
    to url: URL, asOf selector: RevisionSelector = .head(), by author: String = "", note: String = ""
  ) throws {
    let state = try state(asOf: selector)
    guard let everything = state.differences(from: State()) else {
      throw JournalError(.wrongUse, "the model does not say what its states are made of")
    }
    let copy = try Journal.create(at: url)
    for difference in everything {
      guard let record = difference.new else { continue }
      for blob in State.blobs(in: record, of: difference.entity.kind) {
        _ = try copy.blobs.add(try blobs.data(of: blob))
      }
    }
    try copy.commit(by: author, note: note) { draft in
      for difference in everything where State.isRestored(difference.entity.kind) {
        if let record = difference.new { try draft.add(difference.entity, record) }
      }
    }
    try copy.close()
  }
}
