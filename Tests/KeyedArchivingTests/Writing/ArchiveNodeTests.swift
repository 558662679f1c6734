import Foundation
import TestSupport
import Testing

@testable import KeyedArchiving
@testable import PropertyLists

@Suite struct ArchiveNodeTests {
  /// Nodes, and the values of Foundation's classes that they should be read as.
  private func pairs() -> [(ArchiveNode, NSObject)] {
    let url = URL(string: "https://example.org/é?q=1")!
    let uuid = UUID(uuidString: "E621E1F8-C36C-495A-93FC-0C247A3E6E5F")!
    let indexes = [0, 127, 128, 1_000_000]
    return [
      (.string(""), NSString(string: "")),
      (.string("Straße 😀"), NSString(string: "Straße 😀")),
      (.string("$null"), NSMutableString(string: "$null")),
      (.mutableString("m"), NSMutableString(string: "m")),
      (.number(true), NSNumber(value: true)),
      (.number(Int64.min), NSNumber(value: Int64.min)),
      (.number(0.1), NSNumber(value: 0.1)),
      (.data(Data([0, 255])), NSData(data: Data([0, 255]))),
      (.mutableData(Data([0, 255])), NSMutableData(data: Data([0, 255]))),
      (.date(Date(timeIntervalSinceReferenceDate: -0.5)), NSDate(timeIntervalSinceReferenceDate: -0.5)),
      (.url(url), NSURL(string: url.absoluteString)!),
      (.uuid(uuid), NSUUID(uuidString: uuid.uuidString)!),
      (.null(), NSNull()),
      (.array([]), NSArray()),
      (.array([.integer(1), .string("a")]), NSArray(array: [NSNumber(value: 1), NSString(string: "a")])),
      (.array([.real(0.5)], as: .mutableArray), NSMutableArray(array: [NSNumber(value: 0.5)])),
      (.set([.string("a"), .string("b")]), NSSet(array: [NSString(string: "a"), NSString(string: "b")])),
      (
        .orderedSet([.string("b"), .string("a")]),
        NSOrderedSet(array: [NSString(string: "b"), NSString(string: "a")])
      ),
      (.orderedSet([]), NSOrderedSet()),
      (
        .dictionary(["a": .bool(false), "b": .array([])]),
        NSDictionary(
          objects: [NSNumber(value: false), NSArray()],
          forKeys: [NSString(string: "a"), NSString(string: "b")])
      ),
      (.indexPath([]), NSIndexPath()),
      (.indexPath([7]), NSIndexPath(index: 7)),
      (.indexPath([0, 127, 128, 1_000_000]), unsafe NSIndexPath(indexes: indexes, length: 4)),
    ]
  }

  @Test func foundationReadsTheObjectThatWasMeant() throws {
    for (node, expected) in pairs() {
      let read = try unarchived(node.archived())
      #expect(read == expected)
      let inside = try unarchived(ArchiveNode.array([.node(node)]).archived()) as? NSArray
      let element = inside?.firstObject.flatMap {
        $0 as? NSObject ?? ($0 as? String).map { NSString(string: $0) }
      }
      #expect(element == expected)
    }
  }

  /// An archive of an array with a node of each builder.
  private func nodesOfAllBuilders() throws -> [UInt8] {
    let nodes = pairs().map { ArchiveNode.Value.node($0.0) }
    return try ArchiveNode.array(
      nodes + [
        .node(.uiColor(red: 1, green: 0.5, blue: 0)), .node(.nsColor(red: 1, green: 0.5, blue: 0)),
      ]
    ).archived()
  }

  @Test func allBuildersMakeSoundLists() throws {
    try expectSound(nodesOfAllBuilders())
  }

  @Test(.enabled(if: OtherReader.python != nil, "python3 is missing"))
  func pythonReadsWhatAllBuildersMake() throws {
    let text = try pythonTexts([nodesOfAllBuilders()])[0]
    for name in ["NSOrderedSet", "NSIndexPath", "NSUUID", "UIColor", "NSColor"] {
      #expect(text.contains("\(pythonText("$classname"))=\(pythonText(name))"), "\(name)")
    }
  }

  private func fields(_ node: ArchiveNode) -> [String: String] {
    guard case .object(_, let fields, _) = node.content else { return [:] }
    return Dictionary(
      uniqueKeysWithValues: fields.map { key, value in
        switch value {
        case .bytes(let bytes): (key, String(decoding: bytes, as: UTF8.self))
        case .float(let float): (key, "\(float)")
        case .real(let real): (key, "\(real)")
        case .integer(let integer): (key, "\(integer)")
        default: (key, "?")
        }
      })
  }

  @Test func colorsHaveTheKeysThatAppleWrites() {
    #expect(
      fields(.uiColor(red: 1, green: 0.5, blue: 0.2)) == [
        "UIColorComponentCount": "4", "UIRed": "1.0", "UIGreen": "0.5", "UIBlue": "0.2",
        "UIBlue-Double": "0.2",
        "UIAlpha": "1.0", "NSRGB": "1 0.5 0.2", "NSColorSpace": "2",
      ])
    #expect(
      fields(.nsColor(red: 1, green: 0, blue: 0.1, alpha: 0.5)) == [
        "NSColorSpace": "1", "NSRGB": "1 0 0.1 0.5\0",
      ])
  }

  @Test(.enabled(if: OtherReader.python != nil, "python3 is missing"))
  func theHintsOfAClassAreWritten() throws {
    let text = try pythonTexts([ArchiveNode.uiColor(red: 1, green: 1, blue: 1).archived()])[0]
    #expect(text.contains("\(pythonText("$classhints"))=[\(pythonText("NSColor"))]"))
  }

  @Test func equalNodesStayTwoObjectsAndASharedNodeOne() throws {
    let bug = ArchivedClass("ScaryBugData")
    let shared = ArchiveNode(bug, ["Title": .string("a")])
    let equal = ArchiveNode(bug, ["Title": .string("a")])
    let bytes = try ArchiveNode.array([.node(shared), .node(equal), .node(shared)]).archived()
    let array = try #require(unarchived(bytes, classes: ["ScaryBugData": BugObject.self]) as? NSArray)
    let bugs = array.compactMap { $0 as? BugObject }
    #expect(bugs.map(\.title) == ["a", "a", "a"])
    #expect(bugs[0] === bugs[2] && bugs[0] !== bugs[1])
  }

  @Test(.enabled(if: OtherReader.python != nil, "python3 is missing"))
  func booleansAndNumbersKeepTheirTypes() throws {
    let bytes = try ArchiveNode.array([.bool(true), .integer(1), .real(1)]).archived()
    let text = try pythonTexts([bytes])[0]
    #expect(text.contains("b1 i1 r3ff0000000000000"))
  }

  @Test func aCycleIsWrittenOnce() throws {
    let category = ArchiveNode(ArchivedClass("Category"), ["name": .string("Cafés")])
    let place = ArchiveNode(ArchivedClass("Place"), ["category": .node(category)])
    category.set("places", .array([.node(place)]))
    category.set("name", .string("Bars"))
    let bytes = try place.archived()
    try expectSound(bytes)
    let list = try PropertyList(ArchiveBytes(bytes))
    guard case .dictionary(let top) = try list.value() else {
      Issue.record("the top is not a dictionary")
      return
    }
    let objects = top.first { $0.key == .string("$objects") }?.value
    guard case .array(let entries) = objects else {
      Issue.record("the archive has no objects")
      return
    }
    // nil, place, category, name, array of places, and three classes.
    #expect(entries.count == 8)
    #expect(entries.contains(.string("Bars")) && !entries.contains(.string("Cafés")))
  }

  @Test func aLongChainIsWrittenWithoutRecursion() throws {
    var node = ArchiveNode.array([])
    for _ in 0..<20_000 { node = ArchiveNode(ArchivedClass("Link"), ["next": .node(node)]) }
    let bytes = try node.archived()
    let list = try PropertyList(ArchiveBytes(bytes))
    #expect(list.objectCount > 40_000)
  }

  @Test func aChainOfAMillionNodesIsReleasedWithoutRecursion() {
    var node = ArchiveNode.array([])
    for number in 0..<1_000_000 {
      switch number % 4 {
      case 0: node = ArchiveNode(ArchivedClass("Link"), ["next": .node(node)])
      case 1: node = ArchiveNode(ArchivedClass("Link"), unkeyed: [.node(node), .node(node)])
      case 2: node = ArchiveNode.array([.integer(1), .node(node)])
      default: node = ArchiveNode(content: .bare(.node(node)))
      }
    }
    weak let last = node
    node = ArchiveNode.null()
    #expect(last == nil)
  }

  /// No reader opens them. They were taken for too many objects, and written again with wider references.
  @Test func listsInAFieldThatAreNestedTooDeeplyAreRefused() throws {
    func archive(_ depth: Int) throws -> [UInt8] {
      var list = ArchiveNode.Value.list([])
      for _ in 1..<depth { list = .list([list]) }
      return try ArchiveNode.archive(["lists": list])
    }
    #expect(try KeyedArchive(ArchiveBytes(archive(500))).top("lists") != nil)
    let error = #expect(throws: ArchiveError.self) { try archive(600) }
    #expect(error?.code == .unencodable)
  }

  @Test func fewObjectsTakeNarrowReferences() throws {
    func width(_ count: Int) throws -> UInt8 {
      let bytes = try ArchiveNode.array((0..<count).map { .integer(Int64($0)) }).archived()
      return bytes[bytes.count - 25]
    }
    #expect(try width(10) == 1)
    #expect(try width(200) == 2)
    #expect(try width(40_000) == 4)
  }

  @Test func severalNamesOfTheTopShareTheirObjects() throws {
    let node = ArchiveNode.array([], as: .mutableArray)
    let bytes = try ArchiveNode.archive(["a": .node(node), "b": .node(node), "c": .integer(3), "$d": .null])
    let reader = try NSKeyedUnarchiver(forReadingFrom: Data(bytes))
    reader.requiresSecureCoding = false
    let first = reader.decodeObject(forKey: "a") as? NSMutableArray
    #expect(first != nil && first === reader.decodeObject(forKey: "b") as? NSMutableArray)
    #expect(reader.decodeInteger(forKey: "c") == 3)
  }
}
