import CBOR
import PropertyLists

/// Makes the bytes of a ``TextSegment``. Documents, and then words, are appended in ascending order.
struct TextSegmentBuilder {
  private var documentRows = PackedNumbersBuilder(columns: 3)
  private(set) var words: [UInt8] = []
  private var blockRows = PackedNumbersBuilder(columns: 2)
  private(set) var postings: [UInt8] = []
  private var last: [UInt8] = []

  /// A lookup reads one block.
  private static let blockByteCount = 1 << 10

  var documents: [UInt8] { documentRows.bytes }
  var blocks: [UInt8] { blockRows.bytes }

  mutating func append(_ document: TextDocument) {
    documentRows.append(
      (
        UInt64(document.number), UInt64(document.revision),
        UInt64(document.length) << 1 | (document.isNewest ? 1 : 0)
      ))
  }

  /// - Parameters:
  ///   - count: how many documents have the word.
  ///   - encoded: its postings.
  mutating func append(_ word: [UInt8], count: Int, _ encoded: [UInt8]) {
    let start = blockRows.count == 0 ? 0 : Int(blockRows.row(at: blockRows.count - 1).0)
    if words.isEmpty || words.count - start >= Self.blockByteCount {
      blockRows.append((UInt64(words.count), UInt64(postings.count), 0))
      last = []
    }
    let shared = zip(last, word).prefix { $0 == $1 }.count
    for number in [shared, word.count - shared] { words.append(varint: number) }
    words += word[shared...]
    for number in [count, encoded.count] { words.append(varint: number) }
    postings += encoded
    last = word
  }

  /// The segment in memory.
  var segment: TextSegment {
    let segment = try? TextSegment(
      documents: ArchiveSlice(documents), words: ArchiveSlice(words), blocks: ArchiveSlice(blocks),
      postings: ArchiveSlice(postings), highest: .max, revision: .max)
    guard let segment else { preconditionFailure("A segment that was made can be read.") }
    return segment
  }
}

/// The postings of one word, encoded one after the other, in the order of documents.
struct TextPostingList {
  private(set) var count = 0
  private(set) var bytes: [UInt8] = []
  private var last = -1

  mutating func append(_ posting: TextPosting) {
    bytes.append(varint: (posting.document - last - 1) << 1 | (posting.count > 1 ? 1 : 0))
    if posting.count > 1 { bytes.append(varint: posting.count - 2) }
    last = posting.document
    count += 1
  }
}

extension [UInt8] {
  fileprivate mutating func append(varint number: Int) {
    Varints.write(UInt64(number)) { append($0) }
  }
}

/// Collects the words of versions into a segment.
struct TextCollector {
  private struct Entry {
    var list = TextPostingList()
    /// The document that was seen last, and how often it has the word so far.
    var document = -1
    var count = 0

    mutating func end() {
      if count > 0 { list.append(TextPosting(document: document, count: count)) }
    }
  }

  private let definition: IndexDefinition
  private var places: [[UInt8]: Int] = [:]
  private var entries: [Entry] = []
  private var builder = TextSegmentBuilder()
  private var documentCount = 0
  private var text = TextWords()

  init(_ definition: IndexDefinition) { self.definition = definition }

  /// Adds a version that comes after all added ones, by number and then by revision.
  mutating func append(_ number: Int, _ revision: Revision, _ record: EntityRecord, isNewest: Bool = false) {
    guard definition.scope.lists(record) else { return }
    text.removeAll()
    text.read(record, for: definition)
    builder.append(
      TextDocument(number: number, revision: revision, length: text.words.count, isNewest: isNewest))
    for word in text.words {
      let place = places[word] ?? entries.count
      if place == entries.count {
        places[word] = place
        entries.append(Entry())
      }
      if entries[place].document != documentCount {
        entries[place].end()
        entries[place].document = documentCount
        entries[place].count = 0
      }
      entries[place].count += 1
    }
    documentCount += 1
  }

  mutating func finish() -> TextSegmentBuilder {
    for (word, place) in places.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }) {
      entries[place].end()
      builder.append(word, count: entries[place].list.count, entries[place].list.bytes)
    }
    return builder
  }
}
