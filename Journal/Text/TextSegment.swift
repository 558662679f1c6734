import PropertyLists
import Words

/// A version of an entity that an index of words lists.
struct TextDocument: Comparable {
  let number: Int
  let revision: Revision
  /// How many words it has.
  let length: Int
  /// Whether no later version or deletion of the entity is in the layer.
  var isNewest = false

  func with(isNewest: Bool) -> TextDocument {
    TextDocument(number: number, revision: revision, length: length, isNewest: isNewest)
  }

  static func < (left: TextDocument, right: TextDocument) -> Bool {
    (left.number, left.revision) < (right.number, right.revision)
  }

  static func == (left: TextDocument, right: TextDocument) -> Bool {
    (left.number, left.revision) == (right.number, right.revision)
  }
}

/// One document of a word: the place of the document in its segment, and how often the document has the word.
struct TextPosting {
  let document: Int
  let count: Int
}

/// The words of all versions that a range of entries made of the entities in a scope, also of those that no checkpoint
/// of the layer shows. Documentation/Format.md, "Indexes of words", describes the bytes.
struct TextSegment: Sendable {
  private let documents: PackedNumbers
  private let words: ArchiveSlice
  /// For each block of `words`: where it begins, and where the postings of its first word begin.
  private let blocks: PackedNumbers
  private let postings: ArchiveSlice
  private let highest: Int
  private let revision: Revision

  var documentCount: Int { documents.count }

  /// - Parameters:
  ///   - highest: no entity has a higher number.
  ///   - revision: no version is newer.
  init(
    documents: ArchiveSlice, words: ArchiveSlice, blocks: ArchiveSlice, postings: ArchiveSlice, highest: Int,
    revision: Revision
  ) throws(ArchiveError) {
    self.documents = try PackedNumbers(documents, columns: 3)
    self.words = words
    self.blocks = try PackedNumbers(blocks, columns: 2)
    self.postings = postings
    self.highest = highest
    self.revision = revision
  }

  func document(at place: Int) throws(ArchiveError) -> TextDocument {
    let row = try documents.row(at: place)
    guard row.0 > 0, row.0 <= UInt64(highest), row.1 > 0, row.1 <= UInt64(revision),
      row.2 <= UInt64(UInt32.max)
    else { throw documents.foreign }
    return TextDocument(
      number: Int(row.0), revision: Int(row.1), length: Int(row.2 >> 1), isNewest: row.2 & 1 == 1)
  }

  /// The document that follows another one.
  func document(at place: Int, after last: TextDocument) throws(ArchiveError) -> TextDocument {
    let document = try document(at: place)
    guard last < document else { throw documents.foreign }
    return document
  }

  /// The place of a version; nil if the segment does not list it.
  func place(of number: Int, _ revision: Revision) throws(ArchiveError) -> Int? {
    let place = try documents.position(of: (UInt64(number), UInt64(revision), 0))
    guard place < documents.count, case let found = try document(at: place), found.number == number,
      found.revision == revision
    else { return nil }
    return place
  }

  /// Reads everything, unless cancelled, and throws if anything is damaged.
  func readAll(isCancelled: () -> Bool) throws(ArchiveError) {
    if documentCount > 0 {
      var last = try document(at: 0)
      for place in 1..<documentCount {
        if place % 256 == 0, isCancelled() { return }
        last = try document(at: place, after: last)
      }
    }
    var cursor = try cursor()
    while let word = try cursor.next(), !isCancelled() { _ = try postings(of: word) }
  }

  // MARK: Words

  /// A word, and where its postings are.
  struct Word {
    let bytes: [UInt8]
    /// How many documents have it.
    let count: Int
    fileprivate let postings: Range<Int>
  }

  /// The postings of a word or, for a prefix, of all words that begin so, each document once.
  private func postings(of sought: SoughtWord) throws(ArchiveError) -> [TextPosting] {
    var found: [TextPosting] = []
    var cursor = try cursor(from: sought.bytes)
    while let next = try cursor.next(),
      sought.isPrefix ? next.bytes.starts(with: sought.bytes) : next.bytes == sought.bytes
    {
      if !sought.isPrefix { return try postings(of: next) }
      found += try postings(of: next)
    }
    found.sort { $0.document < $1.document }
    var merged: [TextPosting] = []
    merged.reserveCapacity(found.count)
    for posting in found {
      if let last = merged.last, last.document == posting.document {
        merged[merged.count - 1] = TextPosting(document: last.document, count: last.count + posting.count)
      } else {
        merged.append(posting)
      }
    }
    return merged
  }

  func postings(of word: Word) throws(ArchiveError) -> [TextPosting] {
    var found: [TextPosting] = []
    found.reserveCapacity(min(word.count, documents.count))
    var last = -1
    var isCountNext = false
    let isWhole = try unsafe postings.withBytes(at: word.postings.lowerBound, count: word.postings.count) {
      (bytes) throws(ArchiveError) in
      try unsafe Varints.read(bytes) { (number: UInt64) throws(ArchiveError) in
        if isCountNext {
          guard number < UInt64(UInt32.max) else { throw postings.foreign }
          found[found.count - 1] = TextPosting(document: last, count: Int(number) + 2)
          isCountNext = false
        } else {
          guard number >> 1 < UInt64(documents.count - 1 - last) else { throw postings.foreign }
          last += 1 + Int(number >> 1)
          found.append(TextPosting(document: last, count: 1))
          isCountNext = number & 1 == 1
        }
      }
    }
    guard isWhole, !isCountNext, found.count == word.count else { throw postings.foreign }
    return found
  }

  /// The words from one on, which need not exist.
  func cursor(from word: [UInt8] = []) throws(ArchiveError) -> Cursor {
    let block = try (0..<blocks.count).partitionPoint { (block) throws(ArchiveError) in
      var cursor = Cursor(self, block: block)
      guard let first = try cursor.next() else { throw words.foreign }
      return !first.bytes.lexicographicallyPrecedes(word)
    }
    // The word may be in the block before.
    var cursor = Cursor(self, block: max(block - 1, 0))
    while let next = try cursor.ahead(), next.bytes.lexicographicallyPrecedes(word) { _ = try cursor.next() }
    return cursor
  }

  struct Cursor {
    private let segment: TextSegment
    private var block: Int
    /// Whether a block before was read.
    private var continues = false
    private var bytes: [UInt8] = []
    private var offset = 0
    private var postings = 0
    private var last: [UInt8] = []
    private var peeked: Word?

    fileprivate init(_ segment: TextSegment, block: Int) {
      self.segment = segment
      self.block = block
    }

    fileprivate mutating func ahead() throws(ArchiveError) -> Word? {
      if peeked == nil { peeked = try next() }
      return peeked
    }

    mutating func next() throws(ArchiveError) -> Word? {
      if let word = peeked {
        peeked = nil
        return word
      }
      if offset == bytes.count {
        guard block < segment.blocks.count else { return nil }
        try readBlock()
      }
      let shared = try number()
      let count = try number()
      guard shared <= last.count, count <= bytes.count - offset,
        shared + count <= WordBreaker.longestByteCount
      else { throw segment.words.foreign }
      let word = Array(last[..<shared]) + bytes[offset..<offset + count]
      offset += count
      guard last.isEmpty || last.lexicographicallyPrecedes(word) else { throw segment.words.foreign }
      last = word
      let documentCount = try number()
      let byteCount = try number()
      guard byteCount <= segment.postings.count - postings, documentCount <= byteCount else {
        throw segment.words.foreign
      }
      defer { postings += byteCount }
      return Word(bytes: word, count: documentCount, postings: postings..<postings + byteCount)
    }

    private mutating func readBlock() throws(ArchiveError) {
      let row = try segment.blocks.row(at: block)
      let end =
        block + 1 < segment.blocks.count
        ? try segment.blocks.row(at: block + 1).0 : UInt64(segment.words.count)
      guard row.0 < end, end <= UInt64(segment.words.count), row.1 <= UInt64(segment.postings.count),
        !continues && block > 0 || row.1 == UInt64(postings)
      else { throw segment.blocks.foreign }
      continues = true
      bytes = try unsafe segment.words.withBytes(at: Int(row.0), count: Int(end - row.0)) { unsafe Array($0) }
      postings = Int(row.1)
      offset = 0
      block += 1
    }

    private mutating func number() throws(ArchiveError) -> Int {
      var place = offset
      let number = unsafe bytes.withUnsafeBytes { unsafe Varints.next(in: $0, at: &place) }
      guard let number, number <= UInt64(Int.max) else { throw segment.words.foreign }
      offset = place
      return Int(number)
    }
  }
}

extension TextSegment {
  /// The versions up to a revision that have all of some words, each with how often it has the first one.
  func hits(ofAll words: [SoughtWord], asOf revision: Revision) throws(ArchiveError) -> [WordHit] {
    var found: [TextPosting]?
    for word in words {
      // Documents are read only if they have all words.
      let next = try postings(of: word)
      found = found.map { $0.intersection(with: next) } ?? next
    }
    var hits: [WordHit] = []
    for posting in found ?? [] {
      let document = try document(at: posting.document)
      guard document.revision <= revision else { continue }
      hits.append(
        WordHit(
          number: document.number, revision: document.revision, count: posting.count, length: document.length,
          isNewest: document.isNewest))
    }
    return hits
  }

  /// How many versions have each word from one through another, added up.
  func hitCount(from first: [UInt8], through last: [UInt8]) throws(ArchiveError) -> Int {
    var count = 0
    try forEachWord(from: first, through: last) { word throws(ArchiveError) in count += word.count }
    return count
  }

  /// The entities of which a version has a word from one through another.
  func numbers(from first: [UInt8], through last: [UInt8]) throws(ArchiveError) -> Set<Int> {
    var numbers: Set<Int> = []
    try forEachWord(from: first, through: last) { word throws(ArchiveError) in
      for posting in try postings(of: word) {
        numbers.insert(try document(at: posting.document).number)
      }
    }
    return numbers
  }

  private func forEachWord(
    from first: [UInt8], through last: [UInt8], _ body: (Word) throws(ArchiveError) -> Void
  ) throws(ArchiveError) {
    var cursor = try cursor(from: first)
    while let word = try cursor.next(), !last.lexicographicallyPrecedes(word.bytes) {
      try body(word)
    }
  }

  /// Whether this segment has all documents of another one with the same words, and no other words in them; and whether
  /// none of its further documents is the newest version of an entity.
  func agrees(with other: TextSegment) throws(ArchiveError) -> Bool {
    var places: [Int: Int] = [:]
    var expected = 0
    for place in 0..<documentCount {
      let document = try document(at: place)
      guard let found = try other.place(of: document.number, document.revision) else {
        if document.isNewest { return false }
        continue
      }
      let same = try other.document(at: found)
      guard same.length == document.length, same.isNewest == document.isNewest else { return false }
      places[place] = found
      expected += 1
    }
    guard expected == other.documentCount else { return false }
    var (left, right) = (try cursor(), try other.cursor())
    var next = try right.next()
    while let word = try left.next() {
      let own = try postings(of: word).compactMap { posting in
        places[posting.document].map { TextPosting(document: $0, count: posting.count) }
      }
      if own.isEmpty { continue }
      guard let expected = next, expected.bytes == word.bytes else { return false }
      let found = try other.postings(of: expected)
      guard own.count == found.count,
        zip(own, found).allSatisfy({ $0.document == $1.document && $0.count == $1.count })
      else { return false }
      next = try right.next()
    }
    return next == nil
  }
}

extension [TextPosting] {
  /// The postings whose documents are also in another list. Both lists are in the order of documents.
  fileprivate func intersection(with other: [TextPosting]) -> [TextPosting] {
    var common: [TextPosting] = []
    var place = 0
    for posting in self {
      while place < other.count, other[place].document < posting.document { place += 1 }
      if place < other.count, other[place].document == posting.document { common.append(posting) }
    }
    return common
  }
}
