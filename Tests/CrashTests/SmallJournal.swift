import Foundation
import Journaling
import LogbookModel
import TestSupport

/// The bytes of a journal with entries in a table and in the log, a blob, and a snapshot that backs its newest state.
struct SmallJournal: Sendable {
  /// Bytes of one file, which are altered one after the other.
  struct Piece: Sendable, CustomStringConvertible {
    var file: Int
    var range: [Int]
    var description: String { "file \(file), bytes \(range.first ?? 0)…\(range.last ?? 0)" }
  }

  let state: CrashState
  private let answers: Answers

  init(in folder: String) throws {
    let url = URL(fileURLWithPath: "\(folder)/Small.journal")
    let journal = try Journal<Logbook>.create(at: url)
    let blob = try journal.blobs.add(Data("the bytes of a blob".utf8))
    try journal.commit(by: "ana", note: "first") { try $0.write(1, "one", blob: blob) }
    try journal.commit(by: "bob") { try $0.write(2, "two") }
    try journal.close()
    let again = try Journal<Logbook>.open(at: url)
    try again.commit(metadata: ["key": "value"]) { try $0.write(1, "one again") }
    try again.commit { try $0.delete(.page(2)) }
    try again.takeSnapshot()
    try again.close()
    // Alterations of these would change nothing.
    try cutZerosAhead(ofLogsIn: url.appendingPathComponent("entries"))
    answers = try Answers(url, .readOnly)
    precondition(answers.problem(against: answers) == nil)
    state = try CrashState(reading: url.path)
  }

  private func isSnapshot(_ file: Int) -> Bool { state.files[file].path.hasPrefix("snapshots/") }

  /// Whether a file is one of LevelDB's.
  func isLog(_ file: Int) -> Bool { state.files[file].path.hasPrefix("entries/") }

  func bytes(of file: Int) -> [UInt8] { state.files[file].durable }

  var byteCount: Int { state.files.reduce(0) { $0 + $1.durable.count } }

  /// All bytes. Except in a long run, only some of the zeros in HEAD's slots, and some bytes of the snapshot, which has
  /// a long text for people.
  var pieces: [Piece] {
    state.files.indices.flatMap { file -> [Piece] in
      let bytes = bytes(of: file)
      let isHead = state.files[file].path == "HEAD"
      let isSnapshot = isSnapshot(file)
      let indices = bytes.indices.filter {
        Battery.isLong || (isHead ? $0 % 4096 < 70 || $0 % 256 == 0 : !isSnapshot || $0 % 10 == 0)
      }
      return stride(from: 0, to: indices.count, by: 64).map { start in
        Piece(file: file, range: Array(indices[start..<min(start + 64, indices.count)]))
      }
    }
  }

  func rebuild(in place: String) throws {
    try? FileManager.default.removeItem(atPath: place)
    try FileManager.default.createDirectory(
      atPath: place, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    try state.build(in: place)
  }

  /// Opens the folder with one file altered, and restores the file.
  /// - Returns: whether opening was refused.
  func check(
    _ place: String, _ file: Int, _ altered: [UInt8], writes: Bool, _ note: (String) -> Void
  ) throws -> Bool {
    let path = "\(place)/\(state.files[file].path)"
    let url = URL(fileURLWithPath: place)
    try Data(altered).write(to: URL(fileURLWithPath: path))
    var damaged = state
    damaged.files[file].durable = altered
    let isNeeded = !isSnapshot(file)
    let reading = check(url, .readOnly, isNeeded: isNeeded, note)
    if try CrashState(reading: place) != damaged { note("reading changed the folder") }
    if writes {
      let writing = check(url, .readWrite, isNeeded: isNeeded, note)
      if writing != reading { note("one of reading and writing is refused, the other is not") }
      if !writing {
        _ = check(url, .readOnly, isNeeded: isNeeded, note)
        try rebuild(in: place)
      } else if try CrashState(reading: place) != damaged {
        note("an opening that was refused changed the folder")
        try rebuild(in: place)
      }
    }
    try Data(bytes(of: file)).write(to: URL(fileURLWithPath: path))
    return reading
  }

  /// Whether opening was refused.
  private func check(
    _ url: URL, _ mode: Journal<Logbook>.Mode, isNeeded: Bool, _ note: (String) -> Void
  ) -> Bool {
    do {
      let found = try Answers(url, mode)
      let problem =
        isNeeded ? found.problem(against: answers) : found.problemWithoutSnapshot(against: answers)
      if let problem { note(problem) }
      return false
    } catch let error as JournalError {
      if error.message.isEmpty { note("an error without a message") }
      if !isNeeded { note("refused: \(error)") }
      return true
    } catch {
      note("not a journal's error: \(error)")
      return true
    }
  }
}
