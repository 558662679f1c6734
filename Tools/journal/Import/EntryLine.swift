import CBOR
import CatalogModel
import Foundation
import JSON
import JournalServer
import Locks
import SHA256

/// A line of a log: an entry as `log --json` prints it, with or without `--patch`, or one that is made of events in the
/// form of `journal commit`.
struct EntryLine: Sendable {
  enum Content: Sendable {
    /// An entry that another journal has made. Its entities keep their numbers.
    case logged(LoggedEntry)
    /// What a commit says. New entities get new numbers.
    case document(CommitDocument)
  }

  /// The number of the line, from 1.
  let line: Int
  /// What identifies the entry in its source: its revision there, or the number of the line.
  let place: Int
  /// The digest that the line names or, without one, that of its bytes; shortened.
  let digest: String
  /// Whether the line names the digest.
  let hasDigest: Bool
  let content: Result<Content, JournalError>

  private static let digestLength = 16

  /// - Parameter form: the form of the events of earlier lines.
  init(_ bytes: ArraySlice<UInt8>, line: Int, form: inout LoggedEvent.Form) {
    self.line = line
    func fail(_ message: String) -> Result<Content, JournalError> {
      .failure(JournalError(.wrongUse, message))
    }
    var place = line
    var digest: String?
    do {
      let value = try FieldValue(json: bytes, decodingWrappers: true, exactly: true)
      if value["revision"] == nil {
        content = .success(.document(try CommitDocument(value)))
      } else {
        let entry = try LoggedEntry(value, form: &form)
        place = entry.revision
        digest = value["digest"]?.string
        content = .success(.logged(entry))
      }
    } catch let error as JSONError {
      content = fail("column \(error.column): \(error.message)")
    } catch let error as JournalError {
      content = .failure(error)
    } catch {
      content = fail("\(error)")
    }
    self.place = place
    hasDigest = digest != nil
    self.digest = String((digest ?? SHA256Hash.digest(Array(bytes)).hex).prefix(Self.digestLength))
  }
}

struct LoggedEntry: Sendable {
  let revision: Revision
  /// The date that the clock or the caller gave.
  let date: Date
  /// Nil if it was erased, or is missing.
  let author: String?
  let note: String
  let metadata: [String: String]
  let events: [LoggedEvent]

  private static let names = [
    "revision", "date", "clockDate", "author", "note", "metadata", "digest", "events",
  ]

  /// - Throws: ``JournalError`` with code `wrongUse`.
  init(_ value: FieldValue, form: inout LoggedEvent.Form) throws(JournalError) {
    func wrong(_ message: String) -> JournalError { JournalError(.wrongUse, message) }
    guard let members = value.dictionary else { throw wrong("a line is an object") }
    if let unknown = members.keys.filter({ !Self.names.contains($0) }).min() {
      throw wrong("an entry has no member \"\(unknown)\"; it may have \(Self.names.joined(separator: ", "))")
    }
    guard let revision = members["revision"]?.integer, revision > 0 else {
      throw wrong("revision is a whole number above 0")
    }
    self.revision = revision
    guard let text = (members["clockDate"] ?? members["date"])?.string, let date = Timestamp(text)?.date
    else {
      throw wrong("date is missing, or not a date such as \"2026-08-01T10:00:00Z\"")
    }
    self.date = date
    author = members["author"]?.string
    note = members["note"]?.string ?? ""
    var metadata: [String: String] = [:]
    for (key, value) in members["metadata"]?.dictionary ?? [:] {
      guard let text = value.string else { throw wrong("metadata has \"\(key)\", which is not a text") }
      metadata[key] = text
    }
    self.metadata = metadata
    var events: [LoggedEvent] = []
    for event in members["events"]?.array ?? [] { events.append(try LoggedEvent(event, form: &form)) }
    self.events = events
  }
}

/// Reads lines on another thread, which is ahead of the caller by a bounded number of bytes.
final class EntryLines {
  private static let batchByteCount = 256 << 10
  private static let batchCount = 3

  private let queue = BoundedQueue<[EntryLine]>(capacity: batchCount)
  private var batch: [EntryLine] = []
  private var position = 0

  /// - Throws: ``Failure`` if the file can't be opened.
  init(_ path: String) throws(Failure) {
    let (file, queue) = (try LineReader.open(path), self.queue)
    let read: @Sendable () -> Void = {
      queue.fill { () throws(JournalError) in
        let reader = LineReader(file, path)
        var form = LoggedEvent.Form.values
        var (batch, byteCount): ([EntryLine], Int) = ([], 0)
        while let bytes = try Self.next(reader) {
          if bytes.allSatisfy({ $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }) { continue }
          batch.append(EntryLine(bytes, line: reader.number, form: &form))
          byteCount += bytes.count
          if byteCount >= Self.batchByteCount {
            try queue.send(batch)
            (batch, byteCount) = ([], 0)
          }
        }
        if !batch.isEmpty { try queue.send(batch) }
      }
    }
    guard Threads.start(read) else {
      throw Failure.unreadable("the system refuses a thread; try again later")
    }
  }

  deinit { queue.cancel() }

  private static func next(_ reader: LineReader) throws(JournalError) -> ArraySlice<UInt8>? {
    do throws(Failure) { return try reader.next() } catch { throw JournalError(.io, error.description) }
  }

  /// The next line; nil after the last one.
  func next() throws -> EntryLine? {
    while position == batch.count {
      guard let next = try queue.receive() else { return nil }
      (batch, position) = (next, 0)
    }
    defer { position += 1 }
    return batch[position]
  }
}
