import Foundation
import Journaling
import LevelDB
import LogbookModel
import TestSupport

/// A journal of pages, each with texts, notes and images that tests can search for.
struct Pages {
  let url: URL
  var head: Head
  let count: Int
  /// The texts and images of each page, and the notes of its entries.
  var words: [Int: [String]] = [:]
  var notes: [Int: [String]] = [:]
  /// The same by revision, from 1 on. The last revision has none.
  var turns: [(page: Int, text: String, image: String, note: String)] = []

  init(in folder: String, count: Int, _ random: inout SeededGenerator) throws {
    url = URL(fileURLWithPath: "\(folder)/Log.journal")
    self.count = count
    var options = JournalOptions(layers: .manual)
    options.database.writeBufferByteCount = 64 << 10
    var journal = try Journal<Logbook>.create(at: url, options: options)
    // Several pages share this image.
    let shared = try journal.blobs.add(Data("the image of all".utf8))
    for turn in 1...count * 4 {
      let page = turn <= count ? turn : Int.random(in: 1...count, using: &random)
      let (text, image) = ("text<\(page).\(turn)>", "image<\(page).\(turn)>")
      let note = "note<\(page).\(turn)>"
      words[page, default: []] += [text, image]
      notes[page, default: []].append(note)
      turns.append((page, text, image, note))
      let blob = turn % 3 == 0 ? shared : try journal.blobs.add(Data(image.utf8))
      let padding = String(repeating: "-", count: Int.random(in: 0...2000, using: &random))
      try journal.commit(by: "ana", note: note, metadata: ["key": note]) {
        try $0.write(page, text + padding, blob: blob)
      }
      if turn % 7 == 0 { try journal.takeSnapshot() }
      if turn == count * 2 {
        try journal.close()
        journal = try Journal<Logbook>.open(at: url, options: options)
      }
    }
    try journal.commit { try $0.delete(.page(1)) }
    head = journal.head
    try journal.close()
    // Damage to these would change nothing.
    try cutZerosAhead(ofLogsIn: url.appendingPathComponent("entries"))
  }

  func copy(_ name: String) throws -> URL {
    let copy = url.deletingLastPathComponent().appendingPathComponent(name)
    try? FileManager.default.removeItem(at: copy)
    try FileManager.default.copyItem(at: url, to: copy)
    return copy
  }
}

/// The names and bytes of all files in a folder.
func allBytes(of url: URL) throws -> Data {
  var bytes = Data()
  for name in try FileManager.default.subpathsOfDirectory(atPath: url.path) {
    bytes += Data(name.utf8) + (FileManager.default.contents(atPath: "\(url.path)/\(name)") ?? Data())
  }
  return bytes
}
