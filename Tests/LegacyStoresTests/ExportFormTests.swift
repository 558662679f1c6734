import CatalogModel
import Foundation
import KeyedArchiving
import TestSupport
import Testing

@testable import LegacyStores

/// An export encodes each value as the file did that it came from.
@Suite struct ExportFormTests {
  /// Imports an archive twice, checks the items, and exports it.
  private func roundTrip(
    _ top: [(key: String, value: ArchiveNode.Value)], items check: (Catalog) throws -> Void = { _ in },
    _ exported: (KeyedArchive, Data) throws -> Void
  ) throws {
    try withTemporaryFolder { folder in
      let journal = try folder.journal()
      let file = try folder.write("things", try ArchiveNode.archive(top))
      let store = try LegacyStore.archives([file])
      #expect(store.problems.isEmpty, "\(store.problems)")
      #expect(try journal.importStore(store).isComplete)
      let revision = journal.head.revision
      #expect(try journal.importStore(.archives([file])).isComplete)
      #expect(journal.head.revision == revision)
      try check(journal.state)
      let out = folder.url.appending(path: "out")
      try journal.exportStore(.archive, to: out)
      let data = try Data(contentsOf: out.appending(path: "things"))
      try exported(KeyedArchive(ArchiveBytes(data)), data)
    }
  }

  private func thing(_ fields: KeyValuePairs<String, ArchiveNode.Value>) -> ArchiveNode.Value {
    .node(ArchiveNode(ArchivedClass("Thing"), fields))
  }

  @Test func aNumberIsAnObjectWhereItWasOne() throws {
    let boxed = ArchiveNode.Value.node(.number(5 as Int64))
    let things: [ArchiveNode.Value] = [
      thing(["a": .string("text"), "b": .integer(1), "c": boxed]),
      thing(["a": boxed, "b": boxed, "c": .integer(2)]),
      thing(["a": .real(1.5), "b": .bool(true), "c": boxed]),
    ]
    try roundTrip([("root", .array(things))]) { catalog in
      #expect(catalog.things.map { $0["b"] } == [1, 5, true])
      #expect(catalog.things.map { $0["a"] } == ["text", 5, 1.5])
    } _: { (archive, _) throws in
      let isObject = try Made.objects(of: archive).map { object in
        try ["a", "b", "c"].map { try object.reference(forKey: $0) != nil }
      }
      #expect(isObject == [[true, false, true], [true, true, false], [false, false, true]])
    }
  }

  @Test func foundationDecodesTheNumbersOfAnExport() throws {
    let boxed = ArchiveNode.Value.node(.number(5 as Int64))
    try roundTrip([
      ("list", .array([thing(["name": .string("a")])])), ("count", boxed), ("version", .integer(3)),
    ]) {
      archive, data in
      #expect(try archive.reference(forTopKey: "version") == nil)
      let unarchiver = try NSKeyedUnarchiver(forReadingFrom: data)
      unarchiver.decodingFailurePolicy = .setErrorAndReturn
      let (count, version) = (
        unarchiver.decodeObject(forKey: "count"), unarchiver.decodeInteger(forKey: "version")
      )
      let error = unarchiver.error
      #expect(error == nil && count as? Int == 5 && version == 3)
    }
    try roundTrip([("root", boxed)]) { (archive, _) throws in
      #expect(try archive.reference(forTopKey: "root") != nil)
    }
    try roundTrip([("root", .integer(5))]) { (archive, _) throws in
      #expect(try archive.reference(forTopKey: "root") == nil)
      #expect(try archive.root?.integer == 5)
    }
  }

  @Test func dataAndTextsKeepTheirForms() throws {
    let things: [ArchiveNode.Value] = [
      thing([
        "a": .data(Data([1])), "b": .bytes([1]), "c": .url(try #require(URL(string: "https://a.example"))),
      ]),
      thing(["a": .bytes([2]), "b": .data(Data([2])), "c": .string("https://b.example")]),
    ]
    try roundTrip([("root", .array(things))]) { (archive, _) throws in
      let found = try Made.objects(of: archive)
      #expect(try found.map { try $0.reference(forKey: "a") != nil } == [true, false])
      #expect(try found.map { try $0.reference(forKey: "b") != nil } == [false, true])
      #expect(try found.map { try $0["c"]?.url?.absoluteString } == ["https://a.example", nil])
      #expect(try found[1]["c"]?.string == "https://b.example")
    }
  }

  @Test func aMissingKeyStaysMissingAndNilStaysNil() throws {
    func inner(_ fields: KeyValuePairs<String, ArchiveNode.Value>) -> ArchiveNode.Value {
      .node(ArchiveNode(ArchivedClass("Part"), fields))
    }
    let things: [ArchiveNode.Value] = [
      thing([
        "name": .string("a"), "note": .string("x"), "part": inner(["size": .string("s")]), "gone": .null,
      ]),
      thing(["name": .string("b"), "note": .null, "part": inner(["size": .null]), "gone": .null]),
      thing(["name": .string("c"), "part": inner([:]), "gone": .null]),
    ]
    try roundTrip([("root", .array(things))]) { catalog in
      #expect(catalog.things.allSatisfy { $0["gone"] == nil })
    } _: { (archive, _) throws in
      let found = try Made.objects(of: archive)
      #expect(try found.map { try $0.keys.contains("note") } == [true, true, false])
      #expect(try found[1].reference(forKey: "note") == 0)
      #expect(try found.map { try $0.reference(forKey: "gone") } == [0, 0, 0])
      let parts = try found.map { thing -> Bool in
        guard case .object(let part)? = try thing["part"] else { return false }
        return try part.keys.contains("size")
      }
      #expect(parts == [true, true, false])
    }
  }

  /// The dictionary was exported as an `NSNull` with the dictionary's keys as its fields.
  @Test func aDictionaryIsOneWhereAnotherObjectHasNSNull() throws {
    let things = [
      thing(["info": .node(.null())]), thing(["info": .node(.dictionary(["city": .string("Rome")]))]),
    ]
    try roundTrip([("root", .array(things))]) { (archive, _) throws in
      let found = try Made.objects(of: archive)
      #expect(try Made.object(found[0]["info"]).className == "NSNull")
      #expect(try found[1]["info"]?.dictionary?["city"]?.string == "Rome")
    }
  }

  @Test func oneMutableCollectionInTwoFieldsStaysOne() throws {
    let list = ArchiveNode.array([.string("x")], as: .mutableArray)
    let table = ArchiveNode.dictionary([(key: .string("k"), value: .node(list))], as: .mutableDictionary)
    let alone = ArchiveNode.array([.string("y")], as: .mutableArray)
    let things = [
      thing([
        "all": .node(list), "shown": .node(list), "table": .node(table), "again": .node(table),
        "own": .node(alone),
      ])
    ]
    try roundTrip([("root", .array(things))]) { catalog in
      #expect(catalog.things.first?["own"] == ["y"])
    } _: { (archive, _) throws in
      let found = try Made.objects(of: archive)[0]
      #expect(try found.reference(forKey: "all") == found.reference(forKey: "shown"))
      #expect(try found.reference(forKey: "table") == found.reference(forKey: "again"))
      #expect(try found["table"]?.dictionary?.allValues.reference(at: 0) == found.reference(forKey: "all"))
      #expect(try found["shown"]?.array?.elements().map { try $0.string } == ["x"])
    }
  }

  /// The places were imported twice.
  @Test func oneListOfItemsUnderTwoKeysStaysOne() throws {
    let list = ArchiveNode.array([thing(["name": .string("a")])], as: .mutableArray)
    let source = ArchiveNode(ArchivedClass("DataSource"), ["all": .node(list), "shown": .node(list)])
    try roundTrip([("root", .node(source))]) { catalog in
      #expect(catalog.things.count == 1)
    } _: { (archive, _) throws in
      let found = try Made.object(archive.root)
      #expect(try found.reference(forKey: "all") == found.reference(forKey: "shown"))
      #expect(try found["shown"]?.array?.count == 1)
    }
  }

  /// All numbers of a field became reals if one was, and 2⁵³ + 1 was rounded.
  @Test func integersAndNilKeepTheirFormWhereOtherObjectsHaveReals() throws {
    let values: [ArchiveNode.Value] = [
      .real(1.5), .integer(9_007_199_254_740_993), .integer(3), .null, .bool(true),
    ]
    for values in [values, values.reversed()] {
      let things = values.map { thing(["v": $0]) }
      try roundTrip([("root", .array(things))]) { (archive, _) throws in
        let found = try Made.objects(of: archive)
        let before = try Made.objects(
          of: KeyedArchive(ArchiveBytes(ArchiveNode.archive([("root", .array(things))]))))
        #expect(try found.map { try $0["v"]?.kind } == before.map { try $0["v"]?.kind })
        #expect(try found.map { try $0["v"]?.integer } == before.map { try $0["v"]?.integer })
      }
    }
  }

  // MARK: Decimal numbers

  /// As Apple archives it: under the name of a private class.
  private func decimal(_ text: String, isCompact: Bool = true, exponent: Int = 0) -> ArchiveNode {
    let parts = Decimal(string: text).map { $0.archivedFields } ?? [:]
    let node = ArchiveNode(
      ArchivedClass(
        "NSDecimalNumberPlaceholder", superclasses: ["NSDecimalNumber", "NSNumber", "NSValue", "NSObject"]))
    node.set("NS.exponent", .integer(Int64(parts["NS.exponent"]?.integer ?? 0)))
    node.set("NS.length", .integer(Int64(parts["NS.length"]?.integer ?? 0)))
    node.set("NS.negative", .bool(parts["NS.negative"] == true))
    node.set("NS.compact", .bool(isCompact))
    node.set("NS.mantissa.bo", .integer(1))
    node.set("NS.mantissa", .bytes([UInt8](parts["NS.mantissa"]?.data ?? Data())))
    return node
  }

  @Test func decimalNumbersAreNumbersAndAreExportedBitByBit() throws {
    let texts = [
      "3.99", "-0.1", "100", "12345678901234567890123456789.5", "0", "0.000001", "18446744073709551615",
    ]
    // The same number in another encoding, as computing it leaves it.
    let nodes = texts.map { decimal($0) } + [decimal("3.5", isCompact: false)]
    let things = nodes.map { thing(["price": .node($0), "prices": .array([.node($0)])]) }
    let archive = try KeyedArchive(ArchiveBytes(ArchiveNode.archive([("root", .array(things))])))
    let before = try Made.objects(of: archive).map { try plain($0["price"]) }
    try roundTrip([("root", .array(things))]) { catalog in
      let prices = catalog.things.map { $0["price"] }
      #expect(
        prices[0] == 3.99 && prices[1] == -0.1 && prices[2] == 100 && prices[4] == 0 && prices[7] == 3.5)
      #expect(prices[3] == "12345678901234567890123456789.5")
    } _: { (archive, _) throws in
      let found = try Made.objects(of: archive)
      #expect(try found.map { try plain($0["price"]) } == before)
      #expect(try found.map { try plain($0["prices"]?.array?[0]) } == before)
      #expect(try found.map { try $0["price"]?.decimal } == (texts + ["3.5"]).map { Decimal(string: $0) })
    }
  }

  /// Numbers and identifiers became items with the bytes of their objects.
  @Test func numbersAndIdentifiersInAListAreValuesOfItems() throws {
    let uuid = UUID(uuidString: "00010203-0405-0607-0809-0A0B0C0D0E0F") ?? UUID()
    let number = ArchiveNode(
      ArchivedClass("NSNumber", superclasses: ["NSValue", "NSObject"]), ["NS.intval": .integer(8)])
    let list: [ArchiveNode] = [
      decimal("19.99"), decimal("7"), decimal("3.5", isCompact: false), number, .uuid(uuid),
    ]
    try roundTrip([("root", .array(list.map { .node($0) }))]) { catalog in
      #expect(catalog.things.map { $0["value"] } == [19.99, 7, 3.5, 8, .string(uuid.uuidString)])
    } _: { (archive, _) throws in
      let found = try Made.objects(of: archive)
      #expect(
        found.map(\.className) == Array(repeating: "NSDecimalNumberPlaceholder", count: 3) + [
          "NSNumber", "NSUUID",
        ])
      let before = try Made.objects(
        of: KeyedArchive(ArchiveBytes(ArchiveNode.archive([("root", .array(list.map { .node($0) }))]))))
      #expect(try found.map { try plain(.object($0)) } == before.map { try plain(.object($0)) })
    }
  }

  @Test func anExportReportsATextWhereTheAppReadsADecimalNumberOrAnIdentifier() throws {
    try withTemporaryFolder { folder in
      let journal = try folder.journal()
      let things = [thing(["price": .node(decimal("3.5")), "key": .uuid(UUID())])]
      try journal.importStore(
        .archives([folder.write("things", ArchiveNode.archive([("root", .array(things))]))]))
      for (price, count) in [(FieldValue.string("abc"), 2), (.double(1e300), 2), (.double(2.5), 1)] {
        try journal.commit { draft in
          try draft.updateItem(1, set: ["price": price, "key": "none"])
        }
        let report = try journal.exportStore(.archive, to: folder.url.appending(path: "out"), replacing: true)
        #expect(report.problems.count == count && report.problems.allSatisfy { $0.place == "item:1" })
        #expect(!report.isComplete)
      }
    }
  }

  @Test func aDecimalNumberThatIsChangedInTheJournalIsExportedAsOne() throws {
    try withTemporaryFolder { folder in
      let journal = try folder.journal()
      let things = [
        thing(["price": .node(decimal("3.5", isCompact: false))]), thing(["price": .node(.number(2.5))]),
      ]
      let file = try folder.write("things", try ArchiveNode.archive([("root", .array(things))]))
      try journal.importStore(.archives([file]))
      try journal.commit { draft in
        for item in journal.state.things { try draft.updateItem(item.id, set: ["price": 4.25]) }
      }
      let out = folder.url.appending(path: "out")
      try journal.exportStore(.archive, to: out)
      let exported = try Made.objects(of: out.appending(path: "things"))
      #expect(try exported[0]["price"]?.decimal == Decimal(string: "4.25"))
      #expect(try exported[1]["price"]?.decimal == nil && exported[1]["price"]?.double == 4.25)
    }
  }

  // MARK: Classes of other systems

  @Test func objectsOfOtherSystemsKeepTheirFields() throws {
    let bytes = [UInt8](0..<16)
    let others: [ArchiveNode] = [
      ArchiveNode(.uuid, ["uuid": .bytes(bytes)]), ArchiveNode(.uuid, ["NS.uuidbytes": .bytes([1, 2])]),
      ArchiveNode(.url, ["absolute": .string("https://a.example")]),
      ArchiveNode(.date, ["seconds": .real(1)]),
      ArchiveNode(.mutableString, ["characters": .bytes([65])]),
      ArchiveNode(.mutableData, ["contents": .bytes([1])]),
      ArchiveNode(.array, ["elements": .list([.string("x")])]), ArchiveNode(.set, ["elements": .integer(1)]),
      ArchiveNode(.dictionary, ["NS.keys": .list([.string("x")]), "NS.objects": .list([])]),
      ArchiveNode(.decimalNumber, ["value": .text("1.5")]), ArchiveNode(.indexSet, ["ranges": .integer(1)]),
      ArchiveNode(ArchivedClass("NSTimeZone"), ["name": .string("UTC")]),
      ArchiveNode(ArchivedClass("NSLocale"), ["code": .string("de")]),
      ArchiveNode(ArchivedClass("UIColor"), ["hue": .real(1)]),
    ]
    let things = others.map { thing(["value": .node($0), "values": .array([.node($0)])]) }
    let archive = try KeyedArchive(ArchiveBytes(ArchiveNode.archive([("root", .array(things))])))
    let before = try Made.objects(of: archive).map { try plain($0["value"]) }
    try roundTrip([("root", .array(things))]) { catalog in
      #expect(catalog.things.first?["value"]?["uuid"] == .data(Data(bytes)))
    } _: { (archive, _) throws in
      #expect(try Made.objects(of: archive).map { try plain($0["value"]) } == before)
      #expect(try Made.objects(of: archive).map { try plain($0["values"]?.array?[0]) } == before)
    }
  }

  /// The class and the keys of an object, with simple values, and whether these are objects.
  private func plain(_ value: ArchivedValue?) throws -> String {
    guard case .object(let object)? = value else { return "" }
    return try object.className
      + object.keys.sorted().map { key in
        let value = try object[key]
        let text =
          try value?.string ?? value?.data.map { "\([UInt8]($0))" } ?? value?.double.map { "\($0)" } ?? ""
        return " \(key) \(try object.reference(forKey: key) != nil) \(text)"
      }.joined()
  }

  /// `plutil` of libplist makes dictionaries of references on the way through XML.
  @Test(.enabled(if: Programs.plistutil != nil, "plistutil is missing"))
  func anArchiveThatPlistutilConvertedIsReadAsTheOriginal() throws {
    try withTemporaryFolder { folder in
      let plistutil = try #require(Programs.plistutil)
      let people = try Made.persons([("Ana", "1"), ("Ben", "2")])
      let file = try folder.write("people", people)
      let (xml, binary) = (folder.path("people.xml"), folder.path("copy/people"))
      try folder.write("copy/people", [])
      #expect(try Programs.run(plistutil, ["-i", file.path, "-o", xml]).succeeded)
      #expect(try Programs.run(plistutil, ["-i", xml, "-o", binary]).succeeded)
      let journal = try folder.journal()
      try journal.importStore(.archives([file]))
      let revision = journal.head.revision
      try journal.importStore(.archives([URL(filePath: binary)]))
      #expect(journal.head.revision == revision && journal.state.things.count == 2)
    }
  }

  @Test func aBinaryArchiveWithoutReferencesIsReadAsThoughItHadThem() throws {
    func uid(_ number: Int) -> [String: Any] { ["CF$UID": number] }
    let list: [String: Any] = [
      "$archiver": "NSKeyedArchiver", "$version": 100_000, "$top": ["root": uid(1)],
      "$objects": [
        "$null", ["$class": uid(3), "name": uid(2)], "Ana",
        ["$classname": "JSPerson", "$classes": ["JSPerson", "NSObject"]],
      ] as [Any],
    ]
    let data = try PropertyListSerialization.data(fromPropertyList: list, format: .binary, options: 0)
    let person = try Made.object(KeyedArchive(ArchiveBytes(data)).root)
    #expect(try person.className == "JSPerson" && person["name"]?.string == "Ana")
  }

  @Test(.enabled(if: Programs.plser != nil, "plser is missing"))
  func theAdviceForTextOfOpenStepWorks() throws {
    try withTemporaryFolder { folder in
      let file = try folder.write("list.plist", "{ title = \"Caf\\U00e9 \u{1F600}\"; }".utf8)
      let error = #expect(throws: LegacyError.self) { try LegacyStore.propertyLists([file]) }
      let said = error?.description ?? ""
      let command = try #require(said.firstMatch(of: /`plser ([^`]*) FILE > NEW`/)?.output.1)
      let arguments = command.split(separator: " ").map(String.init) + [file.path]
      let converted = try Programs.run(try #require(Programs.plser), arguments)
      #expect(converted.succeeded)
      let store = try LegacyStore.propertyLists([folder.write("new.plist", converted.output)])
      #expect(store.items.first?.attributes["title"] == .string("Café \u{1F600}"))
    }
  }
}
