import PropertyLists

extension TextSegmentBuilder {
  /// Merges segments. If two of them have a version, they agree on its words.
  /// - Parameters:
  ///   - isNewest: whether no later version or deletion is in the layer; called in the order of documents.
  ///   - checkIsWanted: called often; throws if the result is not wanted any more.
  /// - Complexity: O((d + p) log s) for the d documents and p postings of s segments.
  init(
    merging segments: [TextSegment], isNewest: (TextDocument) -> Bool, checkIsWanted: () throws -> Void
  ) throws {
    var heap = SourceHeap<TextDocument>()
    // The places of each segment's documents in the merged segment.
    var places: [[Int32]] = segments.map { _ in [] }
    for (source, segment) in segments.enumerated() where segment.documentCount > 0 {
      heap.insert(try segment.document(at: 0), of: source)
    }
    var last: TextDocument?
    var count = 0
    while let (document, source) = heap.first {
      if document != last {
        if count % 256 == 0 { try checkIsWanted() }
        append(document.with(isNewest: isNewest(document)))
        count += 1
        last = document
      }
      guard let number = Int32(exactly: count - 1) else {
        throw ArchiveError(.limitExceeded, "the layer has too many versions for an index of words")
      }
      places[source].append(number)
      let segment = segments[source]
      let place = places[source].count
      heap.replaceFirst(
        with: place < segment.documentCount ? try segment.document(at: place, after: document) : nil)
    }
    try merge(segments, places, checkIsWanted)
  }

  private mutating func merge(
    _ segments: [TextSegment], _ places: [[Int32]], _ checkIsWanted: () throws -> Void
  ) throws {
    var cursors = try segments.map { try $0.cursor() }
    var heads: [TextSegment.Word?] = []
    var heap = SourceHeap<WordKey>()
    for index in cursors.indices {
      heads.append(try cursors[index].next())
      if let head = heads[index] { heap.insert(WordKey(bytes: head.bytes), of: index) }
    }
    var count = 0
    while let (word, _) = heap.first {
      if count % 256 == 0 { try checkIsWanted() }
      count += 1
      var postings: [TextPosting] = []
      var sourceCount = 0
      while let (next, source) = heap.first, next == word, let head = heads[source] {
        sourceCount += 1
        for posting in try segments[source].postings(of: head) {
          postings.append(
            TextPosting(document: Int(places[source][posting.document]), count: posting.count))
        }
        heads[source] = try cursors[source].next()
        heap.replaceFirst(with: heads[source].map { WordKey(bytes: $0.bytes) })
      }
      if sourceCount > 1 { postings.sort { $0.document < $1.document } }
      var list = TextPostingList()
      var last = -1
      for posting in postings where posting.document != last {
        list.append(posting)
        last = posting.document
      }
      append(word.bytes, count: list.count, list.bytes)
    }
  }
}

private struct WordKey: Comparable {
  let bytes: [UInt8]

  static func < (left: WordKey, right: WordKey) -> Bool { left.bytes.lexicographicallyPrecedes(right.bytes) }
}
