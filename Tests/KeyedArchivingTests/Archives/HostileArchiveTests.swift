import Foundation
import Locks
import TestSupport
import Testing

@testable import KeyedArchiving
@testable import PropertyLists

/// Small archives that were made to take much time or memory, read with the default limits.
@Suite struct HostileArchiveTests {
  /// An archive with these entries after `$null`. The first of them is the root.
  private func archive(
    _ entries: (inout BinaryPropertyListWriter) throws(ArchiveError) -> [Int]
  ) throws -> KeyedArchive {
    let bytes = try BinaryPropertyListWriter.bytes { (writer) throws(ArchiveError) in
      let objects = try [writer.string("$null")] + entries(&writer)
      let top = try writer.dictionary(keys: [writer.string("root")], values: [writer.uid(1)])
      let names = try ["$version", "$archiver", "$top", "$objects"].map { (name) throws(ArchiveError) in
        try writer.string(name)
      }
      return try writer.dictionary(
        keys: names,
        values: [writer.integer(100_000), writer.string("NSKeyedArchiver"), top, writer.array(objects)])
    }
    return try KeyedArchive(ArchiveBytes(bytes))
  }

  /// How many times as long the work takes for four times the size: 4 if the time is linear, 16 if it is quadratic.
  private func growth(_ make: (Int) throws -> KeyedArchive, _ read: (KeyedArchive) throws -> Void) throws
    -> Double
  {
    var best = Double.infinity
    let small = try make(8_000)
    let large = try make(32_000)
    for _ in 0..<3 {
      let times = try [small, large].map { archive in
        try processorTime { try read(archive) } / .seconds(1)
      }
      best = min(best, times[1] / times[0])
    }
    return best
  }

  @Test func manyReferencesToALongDictionaryDoNotSearchItsKeysEachTime() throws {
    func make(_ count: Int) throws -> KeyedArchive {
      try archive { (writer) throws(ArchiveError) in
        let key = try writer.string("key")
        let long = try writer.dictionary(
          keys: Array(repeating: key, count: count), values: Array(repeating: key, count: count))
        let reference = try writer.uid(2)
        return try [writer.array(Array(repeating: reference, count: count)), long]
      }
    }
    #expect(try growth(make) { _ = try $0.inspect() } < 10)
    #expect(try growth(make) { _ = try $0.root?.array?.elements() } < 10)
  }

  @Test func manyClassesOfOneNameAreDistinguishedQuickly() throws {
    func make(_ count: Int) throws -> KeyedArchive {
      try archive { (writer) throws(ArchiveError) in
        let keys = try [writer.string("$classname"), writer.string("$classes")]
        let (name, classKey) = try (writer.string("C"), writer.string("$class"))
        var entries = [0]
        var references: [Int] = []
        for number in 0..<count / 4 {
          let description = try writer.dictionary(
            keys: keys, values: [name, writer.array([name, writer.string("Base\(number)")])])
          let reference = try writer.uid(UInt32(entries.count + 2))
          references.append(try writer.uid(UInt32(entries.count + 1)))
          entries += [try writer.dictionary(keys: [classKey], values: [reference]), description]
        }
        entries[0] = try writer.array(references)
        return entries
      }
    }
    #expect(try make(400).inspect().classes.count == 100)
    #expect(try growth(make) { _ = try $0.inspect() } < 10)
  }

  @Test func anObjectOfManyFieldsIsReadFieldByField() throws {
    struct Anything: Decodable {
      init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: AnyKey.self)
        for key in container.allKeys { _ = try container.decode(Int.self, forKey: key) }
      }
    }
    struct AnyKey: CodingKey {
      let stringValue: String
      var intValue: Int? { nil }
      init(stringValue: String) { self.stringValue = stringValue }
      init?(intValue: Int) { nil }
    }
    func make(_ count: Int) throws -> KeyedArchive {
      try archive { (writer) throws(ArchiveError) in
        var keys = [try writer.string("$class")]
        for number in 0..<count { keys.append(try writer.string("field\(number)")) }
        let value = try writer.integer(1)
        let values = try [writer.uid(2)] + Array(repeating: value, count: count)
        let description = try writer.dictionary(
          keys: [writer.string("$classname")], values: [writer.string("C")])
        return try [writer.dictionary(keys: keys, values: values), description]
      }
    }
    #expect(try growth(make) { _ = try KeyedArchiveDecoder().decode(Anything.self, from: $0) } < 10)
  }

  /// In a process of its own, because other tests take memory.
  @Test(.enabled(if: residentByteCount != nil, "the system does not report resident memory"))
  func manyReferencesToOneLongTextShareItsMemory() async {
    await #expect(processExitsWith: .success) {
      let long = String(repeating: "text", count: 25_000)
      let archive = try HostileArchiveTests().archive { (writer) throws(ArchiveError) in
        let reference = try writer.uid(2)
        return try [writer.array(Array(repeating: reference, count: 20_000)), writer.string(long)]
      }
      // Copies would be 2 GB.
      let before = try #require(residentByteCount)
      let elements = try #require(try archive.root?.array).elements()
      #expect(elements.count == 20_000)
      #expect(try elements[19_999].string == long)
      let afterReading = try #require(residentByteCount)
      #expect(afterReading - before < 1 << 30)
      let texts = try KeyedArchiveDecoder().decode([String].self, from: archive)
      #expect(texts.last == long)
      let afterDecoding = try #require(residentByteCount)
      #expect(afterDecoding - before < 1 << 30)
    }
  }

  @Test func keysThatShareOneLongTextAreRefused() throws {
    let archive = try archive { (writer) throws(ArchiveError) in
      let key = try writer.string(String(repeating: "key", count: 30_000))
      let keys = try Array(repeating: key, count: 30_000) + [writer.string("$class")]
      let values = try Array(repeating: key, count: 30_000) + [writer.uid(2)]
      let description = try writer.dictionary(
        keys: [writer.string("$classname")], values: [writer.string("C")])
      return try [writer.dictionary(keys: keys, values: values), description]
    }
    guard case .object(let object)? = try archive.root else {
      Issue.record("no object")
      return
    }
    #expect(code { _ = try object.keys } == .limitExceeded)
    #expect(try archive.inspect().classes.first?.fields.first?.name == "(a key of 90000 characters)")
  }

  private func timeToDecode<T: Decodable>(_ type: T.Type, _ make: (Int) -> ArchiveNode) throws -> Double {
    func shared(_ count: Int) throws -> KeyedArchive {
      let node = make(count)
      let array = ArchiveNode.array(Array(repeating: .node(node), count: count))
      return try KeyedArchive(ArchiveBytes(array.archived()))
    }
    return try growth(shared) { _ = try? KeyedArchiveDecoder().decode([T].self, from: $0) }
  }

  @Test func manyReferencesToOneLargeObjectDoNotReadItEachTime() throws {
    func wide(_ archivedClass: ArchivedClass, _ count: Int, _ key: String, _ value: ArchiveNode.Value)
      -> ArchiveNode
    {
      let others = (0..<count).map { (key: "field\($0)", value: ArchiveNode.Value.bool(true)) }
      return ArchiveNode(content: .object(archivedClass, others + [(key: key, value: value)]))
    }
    #expect(try timeToDecode(Date.self) { wide(.date, $0, "NS.time", .real(1)) } < 10)
    #expect(try timeToDecode(String.self) { wide(.mutableString, $0, "NS.string", .text("a")) } < 10)
    #expect(
      try timeToDecode(Decimal.self) { count in
        let decimal = ArchiveNode.decimal(1)
        decimal.set("NS.mantissa", .bytes([1] + [UInt8](repeating: 0, count: count)))
        return decimal
      } < 10)
  }

  @Test func manyReferencesToOneLargeObjectAreRefused() throws {
    func code<T: Decodable>(_ type: T.Type, _ node: ArchiveNode) throws -> ArchiveError.Code? {
      let array = ArchiveNode.array(Array(repeating: .node(node), count: 2_000))
      let archive = try KeyedArchive(ArchiveBytes(array.archived()))
      do {
        _ = try KeyedArchiveDecoder().decode([T].self, from: archive)
        return nil
      } catch DecodingError.dataCorrupted(let context) {
        return (context.underlyingError as? ArchiveError)?.code
      }
    }
    let text = "http://a/" + String(repeating: "b", count: 20_000)
    #expect(try code(URL.self, .url(URL(string: text)!)) == .limitExceeded)
    let indexes = (0..<20_000).map { 2 * $0 }
    #expect(try code(IndexPath.self, .indexPath(IndexPath(indexes: indexes))) == .limitExceeded)
    #expect(try code(IndexSet.self, .indexSet(IndexSet(indexes))) == .limitExceeded)
  }

  private static let decoded = Lock(0)

  private struct Tree: Decodable {
    let children: [Tree]?
    private enum CodingKeys: CodingKey { case children }

    init(from decoder: any Decoder) throws {
      HostileArchiveTests.decoded.withLock { $0 += 1 }
      children = try decoder.container(keyedBy: CodingKeys.self).decodeIfPresent(
        [Tree].self, forKey: .children)
    }
  }

  @Test func aSmallGraphThatDoublesAtEachLevelIsRefusedQuickly() throws {
    let archive = try archive { (writer) throws(ArchiveError) in
      let (childrenKey, classKey) = try (writer.string("children"), writer.string("$class"))
      let classReference = try writer.uid(41)
      var entries: [Int] = []
      for level in 0..<40 {
        let child = try writer.uid(UInt32(level + 2))
        let children = level < 39 ? [child, child] : []
        entries.append(
          try writer.dictionary(
            keys: [childrenKey, classKey], values: [writer.array(children), classReference]))
      }
      entries.append(
        try writer.dictionary(keys: [writer.string("$classname")], values: [writer.string("Tree")]))
      return entries
    }
    #expect(archive.propertyList.bytes.count < 2000)
    Self.decoded.withLock { $0 = 0 }
    do {
      _ = try KeyedArchiveDecoder().decode(Tree.self, from: archive)
      Issue.record("it was decoded")
    } catch DecodingError.dataCorrupted(let context) {
      #expect((context.underlyingError as? ArchiveError)?.code == .limitExceeded)
    }
    #expect(Self.decoded.withLock { $0 } < 100_000)
  }

  @Test func aSmallListThatDoublesAtEachLevelIsNotExpanded() throws {
    let bytes = try BinaryPropertyListWriter.bytes { (writer) throws(ArchiveError) in
      var list = try writer.array([])
      for _ in 0..<22 { list = try writer.array([list, list]) }
      return list
    }
    let list = try PropertyList(ArchiveBytes(bytes))
    #expect(code { _ = try list.value() } == .limitExceeded)
  }

  @Test func thePathsToManyFindingsInADeepListAreShort() throws {
    let bytes = try BinaryPropertyListWriter.bytes { (writer) throws(ArchiveError) in
      let inner = try BinaryPropertyListWriter.bytes { (writer) throws(ArchiveError) in try writer.bool(true)
      }
      let data = try writer.data(inner)
      var list = try writer.array([data])
      for _ in 0..<20_000 { list = try writer.array([list, data]) }
      return list
    }
    let found = try PropertyList(ArchiveBytes(bytes)).embeddedArchives()
    #expect(found.count == 20_001)
    #expect(found[0].keyPath == "[1]")
    #expect(found[20_000].keyPath == "…" + String(repeating: "[0]", count: 64))
    #expect(found.reduce(0) { $0 + $1.keyPath.utf8.count } < 300 * found.count)
  }
}
