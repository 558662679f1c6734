import CBOR
import CatalogModel
import Foundation
import JSON
import Testing

@testable import Journaling

/// A journal without a disk. It keeps every state and entry, and checks all rules of the model after each commit.
struct CatalogHistory {
  private(set) var states = [Catalog()]
  private(set) var entries: [[JournalEvent]] = []

  var state: Catalog { states[states.count - 1] }
  var revision: Revision { entries.count }

  /// Commits as a journal does: if `body` throws, nothing is kept.
  @discardableResult
  mutating func commit<T>(_ body: (inout Draft<Catalog>) throws -> T) throws -> T {
    let head = Head(revision: revision, timestamp: Timestamp(microseconds: 0), digest: .zero)
    var draft = Draft(base: Version(head: head, state: state), date: head.date)
    let result = try body(&draft)
    let (events, state) = try draft.finish()
    guard !events.isEmpty else { return result }
    entries.append(events)
    states.append(state)
    #expect(state.problems() == [])
    return result
  }

  /// The state at a revision, computed from the events alone.
  func replayed(to revision: Revision) throws -> Catalog {
    var state = Catalog()
    for (index, events) in entries.prefix(revision).enumerated() {
      for event in events { try state.apply(event, at: index + 1) }
    }
    return state
  }

  /// Puts the newest state on a base, as if it had been opened from layers.
  mutating func rebaseNewestState() throws {
    let parts = try #require(state.parts).frozen()
    states[states.count - 1] = try #require(Catalog(parts: parts))
  }

  /// The events of the newest entry, as `log --json` prints them.
  var newestEvents: [String] {
    (entries.last ?? []).map { event in
      var writer = JSONWriter()
      writer.value(Catalog.json(of: event))
      return writer.text
    }
  }
}

extension Catalog {
  /// All that can be seen of a catalog, as text.
  var json: String {
    var (text, bytes) = (StateText(self), [UInt8]())
    do { while let piece = try text.next() { bytes += piece } } catch { return "\(error)" }
    return String(decoding: bytes.dropLast(), as: UTF8.self)
  }
}

/// Fails unless `body` is rejected with a sentence that has `words` in it.
func expectRejection(
  _ words: String, sourceLocation: SourceLocation = #_sourceLocation, _ body: () throws -> Void
) {
  do {
    try body()
    Issue.record("nothing was thrown", sourceLocation: sourceLocation)
  } catch let error as JournalError {
    #expect(error.code == .rejected, sourceLocation: sourceLocation)
    #expect(error.message.contains(words), sourceLocation: sourceLocation)
  } catch {
    Issue.record("another error: \(error)", sourceLocation: sourceLocation)
  }
}

let someBlob = Blob(digest: ContentDigest(hex: String(repeating: "ab", count: 32))!, byteCount: 123)
