import CatalogModel
import EntitySearch
import Foundation
import HTTPServer
import Locks

/// The dates and authors of entries, in twelve bytes of memory for each entry.
///
/// A separate thread reads the history once, and then new entries. Responses don't wait for this thread; they name the
/// newest entry that they count.
///
/// Safe to use from any thread.
final class Timeline: Sendable {
  private static let stepCount = 4096

  fileprivate struct Heads: Sendable {
    var first: Revision
    /// The journal's `erasureCount` when reading started. After an erasure or a pruning, reading starts again, because
    /// authors are erased too.
    var erasureCount: Int
    /// Microseconds since 1970, in ascending order.
    var dates: [Int64] = []
    /// For each entry, the index of its author in ``authors``.
    var authorNumbers: [Int32] = []
    var authors: [Author] = []
    var numbers: [Author: Int32] = [:]
    /// For each of ``authors``, the number of entries.
    var counts: [Int] = []
    var isEnding = false
    var isReading = false
    /// Whether the last reading of the log failed.
    var hasFailed = false
  }

  fileprivate enum Author: Hashable {
    /// Nil if the name was erased.
    case named(String?)
    /// The entry can't be read.
    case unknown
  }

  struct Bucket: Equatable {
    let place: Int
    var first: Revision
    var last: Revision
    /// The number of entries of each of ``Histogram/authors`` and, last, of all others.
    var counts: [Int]
    /// How many entries can't be read.
    var unreadableCount = 0
  }

  struct Histogram {
    var from: Int64
    var to: Int64
    /// The authors with the most entries, sorted by name; nil for an erased author. Each bucket has one more count, for
    /// all other authors.
    var authors: [String?]
    var hasOthers: Bool
    /// The buckets that have entries.
    var buckets: [Bucket]
    /// The revision of the newest entry that was read.
    var through: Revision
  }

  private let journal: CatalogJournal
  private let threads: WorkerThreads
  private let heads: Lock<Heads>

  init(_ journal: CatalogJournal, _ threads: WorkerThreads) {
    self.journal = journal
    self.threads = threads
    heads = Lock(Heads(first: 1, erasureCount: -1))
  }

  /// Reads new entries on a separate thread.
  func catchUp() {
    let mayStart = heads.withLock { heads in
      heads.beginAgain(ifBefore: journal)
      defer { heads.isReading = true }
      return !heads.isReading && !heads.isEnding
    }
    if mayStart, !threads.start(for: self, { $0.read() }) { heads.withLock { $0.isReading = false } }
  }

  /// Asks the thread to end soon.
  func end() { heads.withLock { $0.isEnding = true } }

  private func read() {
    while true {
      let (next, erasures) = heads.withLock { heads in
        heads.beginAgain(ifBefore: journal)
        return (heads.isEnding ? nil : heads.first + heads.dates.count, heads.erasureCount)
      }
      guard let next, next <= journal.head.revision else { break }
      guard read(next...min(next + Self.stepCount - 1, journal.head.revision), erasures) else { break }
    }
    let isBehind = heads.withLock { heads in
      heads.isReading = false
      return !heads.isEnding && !heads.hasFailed && heads.first + heads.dates.count <= journal.head.revision
    }
    // Entries were added in the meantime. An unreadable log is not read again before the next request.
    if isBehind { catchUp() }
  }

  /// Reads the dates and authors of entries. A damaged entry gets the date of the entry before it.
  /// - Returns: false if the log can't be read now.
  private func read(_ range: ClosedRange<Revision>, _ erasures: Int) -> Bool {
    var found: [(date: Int64, author: Author)] = []
    do {
      try journal.forEachHead(range) { found.append(($0.microseconds, .named($1))) }
    } catch {
      if journal.erasureCount != erasures { return true }
      guard (error as? JournalError)?.code == .damaged else {
        heads.withLock { $0.hasFailed = true }
        return false
      }
      // Damaged entries are skipped one by one.
      if found.isEmpty { found = [(.min, .unknown)] }
    }
    heads.withLock { heads in
      heads.hasFailed = false
      if heads.erasureCount != erasures { return }
      for (date, author) in found { heads.add(date, author) }
    }
    return true
  }

  /// Counts entries from `from` to `to`, in microseconds since 1970, by default all; nil if no date is known yet.
  /// - Complexity: O(n) in the entries of the range, about a nanosecond for each.
  func histogram(from: Int64?, to: Int64?, bucketCount: Int, authorCount: Int) -> Histogram? {
    heads.withLock { heads in
      guard let oldest = heads.dates.first, let newest = heads.dates.last, newest > .min else { return nil }
      let from = from ?? oldest
      let to = max(to ?? newest, from)
      let named = heads.authors.enumerated().compactMap { index, author -> (index: Int, name: String?)? in
        if case .named(let name) = author { (index, name) } else { nil }
      }
      let chosen = named.sorted { (heads.counts[$1.index], $0.index) < (heads.counts[$0.index], $1.index) }
        .prefix(authorCount).sorted { ($0.name ?? "").utf8.lexicographicallyPrecedes(($1.name ?? "").utf8) }
      var places = [Int](repeating: chosen.count, count: heads.authors.count)
      for (place, author) in chosen.enumerated() { places[author.index] = place }
      var histogram = Histogram(
        from: from, to: to, authors: chosen.map(\.name), hasOthers: chosen.count < named.count, buckets: [],
        through: heads.first + heads.dates.count - 1)
      let unknown = heads.numbers[.unknown]
      let width = Double(to - from + 1) / Double(bucketCount)
      var index = heads.index(from)
      let end = to == .max ? heads.dates.count : heads.index(to + 1)
      while index < end {
        let place = min(Int(Double(heads.dates[index] - from) / width), bucketCount - 1)
        let bound = from + Int64((Double(place + 1) * width).rounded(.up))
        let next = place == bucketCount - 1 ? end : max(min(heads.index(bound), end), index + 1)
        var bucket = Bucket(
          place: place, first: heads.first + index, last: heads.first + next - 1,
          counts: [Int](repeating: 0, count: chosen.count + 1))
        for number in heads.authorNumbers[index..<next] {
          if number == unknown {
            bucket.unreadableCount += 1
          } else {
            bucket.counts[places[Int(number)]] += 1
          }
        }
        histogram.buckets.append(bucket)
        index = next
      }
      return histogram
    }
  }
}

extension Timeline.Heads {
  fileprivate mutating func beginAgain(ifBefore journal: CatalogJournal) {
    let newest = journal.erasureCount
    if erasureCount == newest { return }
    first = (journal.base?.revision ?? 0) + 1
    (dates, authorNumbers, authors, numbers, counts) = ([], [], [], [:], [])
    erasureCount = newest
  }

  fileprivate mutating func add(_ date: Int64, _ author: Timeline.Author) {
    // Damaged entries at the beginning get the date of the first readable entry.
    if dates.last == .min { dates = [Int64](repeating: date, count: dates.count) }
    dates.append(max(date, dates.last ?? date))
    let number = numbers[author] ?? Int32(authors.count)
    if number == authors.count {
      numbers[author] = number
      authors.append(author)
      counts.append(0)
    }
    counts[Int(number)] += 1
    authorNumbers.append(number)
  }

  /// The index of the first entry at or after a date.
  fileprivate func index(_ date: Int64) -> Int { dates.partitioningIndex { $0 >= date } }
}
