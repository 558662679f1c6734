import CBOR
import PropertyLists

/// A line of an index in a layer: the value that a version of an entity has. The revision is the version's.
struct LayerValueLine: Hashable, Comparable {
  let line: ValueLine
  let revision: Revision

  static func < (left: LayerValueLine, right: LayerValueLine) -> Bool {
    left.line == right.line ? left.revision < right.revision : left.line < right.line
  }
}

/// The lines of an index in one layer, in order: those of all versions of entities that the layer has.
protocol LayerValueLines: Sendable {
  var count: Int { get }
  func line(at position: Int) throws(ArchiveError) -> LayerValueLine
}

extension LayerValueLines {
  /// How many lines come before a line, which need not exist.
  func position(of line: LayerValueLine) throws(ArchiveError) -> Int {
    try (0..<count).partitionPoint { (index) throws(ArchiveError) in try self.line(at: index) >= line }
  }

  func cursor() -> () throws(ArchiveError) -> LayerValueLine? {
    var position = 0
    return { () throws(ArchiveError) in
      guard position < self.count else { return nil }
      position += 1
      return try self.line(at: position - 1)
    }
  }
}

/// The lines of a layer that has no index, made from its entities.
struct ScannedValueLines: LayerValueLines {
  private let lines: [LayerValueLine]

  /// - Parameter lines: the lines in order, without duplicates.
  init(_ lines: [LayerValueLine]) { self.lines = lines }

  /// - Complexity: O(n log n) in the versions of the layer.
  init(_ source: any LayerSource, _ definition: IndexDefinition) throws(ArchiveError) {
    var lines: [LayerValueLine] = []
    let kind = definition.scope.table
    let next = try source.versions(kind)
    let rows = source.rows(kind)
    while let version = try next() {
      guard let row = try rows(version) else { continue }
      definition.forEachLine(of: version.number, row.record) {
        lines.append(LayerValueLine(line: $0, revision: version.revision))
      }
    }
    lines.sort()
    // A repeated element of an array is one line.
    self.lines = lines.enumerated().filter { $0.offset == 0 || $0.element != lines[$0.offset - 1] }.map(
      \.element)
  }

  var count: Int { lines.count }
  func line(at position: Int) -> LayerValueLine { lines[position] }
}

/// The lines in the archive of a layer.
///
/// The data of the lines begins with a byte that says how many bytes a number has, 4 or 8. Then come rows: the 16 bytes
/// by which values are compared first, and three numbers: the entity, the revision, and where the rest of a long value
/// is, or 0. The data of the rests has four bytes for the length of each, and its bytes. All numbers have their most
/// significant byte first.
struct PackedValueLines: LayerValueLines {
  private let lines: ArchiveSlice
  private let rests: ArchiveSlice
  private let width: Int
  private let highest: Int
  private let revision: Revision
  let count: Int

  private static let headByteCount = 16
  private static func rowByteCount(_ width: Int) -> Int { headByteCount + 3 * width }

  /// - Parameters:
  ///   - highest: no entity has a higher number.
  ///   - revision: no version is newer.
  init(
    _ reader: LayerReader, lines: ObjectHeader, rests: ObjectHeader, highest: Int, revision: Revision
  ) throws(ArchiveError) {
    self.lines = try ArchiveSlice(reader, lines)
    self.rests = try ArchiveSlice(reader, rests)
    self.highest = highest
    self.revision = revision
    width = try self.lines.width()
    guard (self.lines.count - 1) % Self.rowByteCount(width) == 0 else { throw self.lines.foreign }
    count = (self.lines.count - 1) / Self.rowByteCount(width)
  }

  func line(at position: Int) throws(ArchiveError) -> LayerValueLine {
    let size = Self.rowByteCount(width)
    let row = try unsafe lines.withBytes(at: 1 + position * size, count: size) { bytes in
      (
        head: UInt128(unsafe bytes.bigEndian(at: 0, width: 8)) << 64
          | UInt128(unsafe bytes.bigEndian(at: 8, width: 8)),
        member: unsafe bytes.bigEndian(at: Self.headByteCount, width: width),
        revision: unsafe bytes.bigEndian(at: Self.headByteCount + width, width: width),
        rest: unsafe bytes.bigEndian(at: Self.headByteCount + 2 * width, width: width)
      )
    }
    let tail = row.rest > 0 ? try rest(at: row.rest - 1) : nil
    guard let key = ValueKey(head: row.head, tail: tail), row.member > 0, row.member <= UInt64(highest),
      row.revision > 0, row.revision <= UInt64(revision)
    else { throw lines.foreign }
    return LayerValueLine(line: ValueLine(key: key, member: Int(row.member)), revision: Int(row.revision))
  }

  private func rest(at place: UInt64) throws(ArchiveError) -> [UInt8] {
    guard place < UInt64(rests.count) else { throw rests.foreign }
    let count = try unsafe rests.withBytes(at: Int(place), count: 4) { unsafe $0.bigEndian(at: 0, width: 4) }
    return try unsafe rests.withBytes(at: Int(place) + 4, count: Int(count)) { unsafe Array($0) }
  }

  struct Builder {
    private var rows: PackedNumbersBuilder
    private(set) var rests: [UInt8] = []
    private var last: (tail: [UInt8], place: UInt64)?

    init(narrowLimit: UInt64 = UInt64(UInt32.max)) {
      rows = PackedNumbersBuilder(
        columns: 3, headByteCount: PackedValueLines.headByteCount, narrowLimit: narrowLimit)
    }

    var lines: [UInt8] { rows.bytes }

    mutating func append(_ next: LayerValueLine) {
      let (head, tail) = next.line.key.parts
      var place: UInt64 = 0
      if let tail {
        // Lines with the same value share the rest of that value.
        if let last, last.tail == tail {
          place = last.place
        } else {
          place = UInt64(rests.count + 1)
          rests.append(bigEndian: UInt32(tail.count))
          rests.append(contentsOf: tail)
          last = (tail, place)
        }
      }
      rows.append((UInt64(next.line.member), UInt64(next.revision), place), head: head)
    }
  }
}
