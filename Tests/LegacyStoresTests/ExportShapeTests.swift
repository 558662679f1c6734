import CatalogModel
import Foundation
import KeyedArchiving
import TestSupport
import Testing

@testable import LegacyStores

/// What an export must keep as it was in the imported file.
@Suite struct ExportShapeTests {
  /// Imports an archive and exports it again.
  private func roundTrip(
    _ top: [(key: String, value: ArchiveNode.Value)], archiver: String = KeyedArchiveWriter.standardArchiver,
    _ check: (KeyedArchive) throws -> Void
  ) throws {
    try withTemporaryFolder { folder in
      let journal = try folder.journal()
      let file = try folder.write("things", try ArchiveNode.archive(top, archiver: archiver))
      #expect(try journal.importStore(.archives([file])).isComplete)
      let out = folder.url.appending(path: "out")
      try journal.exportStore(.archive, to: out)
      try check(KeyedArchive(ArchiveBytes(contentsOf: out.appending(path: "things"))))
    }
  }

  private var person: ArchiveNode.Value { .node(Made.person("Ana", "1")) }

  @Test func nilAtTheTopStaysNilAndNSNullStaysNSNull() throws {
    try roundTrip([("a", .array([person])), ("none", .null), ("null", .node(.null()))]) { archive in
      #expect(try archive.reference(forTopKey: "none") == 0)
      let null = try Made.object(archive.top("null"))
      #expect(null.className == "NSNull")
    }
  }

  @Test func whatIsAroundTheItemsKeepsItsPicturesAndRefersToTheSameItems() throws {
    let persons = ["A", "B", "C"].map { Made.person($0, "1") }
    let byNumber = ArchiveNode.dictionary([(key: .integer(7), value: .node(persons[2]))])
    let large = Data(repeating: 7, count: 100_000)
    let top: [(key: String, value: ArchiveNode.Value)] = [
      ("list", .array(persons.map { .node($0) })), ("selected", .node(byNumber)), ("photo", .data(Made.png)),
      ("large", .data(large)),
    ]
    try roundTrip(top) { archive in
      #expect(try archive.top("photo")?.data == Made.png)
      #expect(try archive.top("large")?.data == large)
      let selected = try archive.top("selected")?.dictionary?.allValues.reference(at: 0)
      #expect(try selected != nil && selected == archive.top("list")?.array?.reference(at: 2))
    }
  }

  @Test func fieldsWhoseTypesDifferAreExportedUnderTheirKeysWithTheirTypes() throws {
    func place(_ name: ArchiveNode.Value, _ phone: ArchiveNode.Value, _ tags: ArchiveNode.Value)
      -> ArchiveNode
    {
      ArchiveNode(
        ArchivedClass("POI"),
        ["name": name, "phone": phone, "lat": .integer(2), "lon": .integer(3), "tags": tags])
    }
    let tag = ArchiveNode(ArchivedClass("Tag"), ["text": .string("t")])
    let places = [
      place(.string("A"), .string("1"), .node(tag)),
      place(.node(.number(Int64(7))), .node(.number(Int64(123))), .array([.string("x")])),
      place(.string("C"), .null, .node(.array([], as: .mutableArray))),
    ]
    try roundTrip([("root", .array(places.map { .node($0) }))]) { archive in
      let back = try Made.objects(of: archive)
      try #require(back.count == 3)
      #expect(
        try back.map { try Set($0.keys) }
          == Array(repeating: ["name", "phone", "lat", "lon", "tags"], count: 3))
      #expect(try back[0]["phone"]?.string == "1")
      #expect(try back[1]["phone"]?.integer == 123 && back[1]["name"]?.integer == 7)
      #expect(try back.map { try $0["lat"]?.kind } == ["integer", "integer", "integer"])
      // This used to be an object of the class Tag with elements.
      guard case .object(let list)? = try back[1]["tags"], case .object(let first)? = try back[0]["tags"]
      else {
        Issue.record("no objects")
        return
      }
      #expect(list.isKind(of: "NSArray") && first.className == "Tag")
    }
  }

  /// The default of the missing attribute replaced the field.
  @Test func aDefaultDoesNotReplaceAFieldOfAnotherType() throws {
    func contact(_ phone: ArchiveNode.Value) -> ArchiveNode.Value {
      .node(ArchiveNode(ArchivedClass("Contact"), ["name": .string("Ana"), "phone": phone]))
    }
    let contacts = [contact(.node(.number(Int64(5_551_234)))), contact(.string("555-99"))]
    for list in [contacts, contacts.reversed(), [contacts[0]]] {
      try roundTrip([("root", .array(list))]) { archive in
        let back = try Made.objects(of: archive)
        #expect(try back.allSatisfy { try Set($0.keys) == ["name", "phone"] })
        let phones = try back.map { try $0["phone"]?.integer?.description ?? $0["phone"]?.string }
        let expected = list.count == 1 ? ["5551234"] : ["5551234", "555-99"]
        #expect(phones.compactMap(\.self).sorted() == expected.sorted())
      }
    }
    let bugs = [
      ArchiveNode(ArchivedClass("MyBug"), ["Title": .string("Ant"), "Rating": .string("4.5")]),
      ArchiveNode(ArchivedClass("MyBug"), ["Title": .node(.number(Int64(7))), "Rating": .real(3.5)]),
    ]
    try roundTrip([("root", .array(bugs.map { .node($0) }))]) { archive in
      let back = try Made.objects(of: archive)
      try #require(back.count == 2)
      #expect(try back[0]["Rating"]?.string == "4.5" && back[1]["Title"]?.integer == 7)
      #expect(try back.allSatisfy { try Set($0.keys) == ["Title", "Rating"] })
    }
  }

  @Test func aDefaultIsNotExportedBesideADictionarysFieldOfAnotherType() throws {
    try withTemporaryFolder { folder in
      let people: [[String: Any]] = [["fullName": "Ana B", "name": "Ana", "phone": 5_551_234]]
      let journal = try folder.journal()
      try journal.importStore(
        .propertyLists([folder.write("people.plist", Made.propertyList(people))]))
      let out = folder.url.appending(path: "out")
      try journal.exportStore(.plist, to: out)
      #expect(try Made.read(out.appending(path: "people.plist")) == people as NSArray)
    }
  }

  /// One object of a newer version made all older ones nameless.
  @Test func objectsOfOlderVersionsOfAnAppKeepTheirKeys() throws {
    try withTemporaryFolder { folder in
      let old = ["fullName": "Ana Old", "phone": "555"]
      let new = ["name": "Bob New", "number": "556"]
      let nodes = [old, new, old].map { fields in
        let node = ArchiveNode(ArchivedClass("JSPerson"))
        for (key, text) in fields.sorted(by: { $0.key < $1.key }) { node.set(key, .string(text)) }
        return ArchiveNode.Value.node(node)
      }
      let journal = try folder.journal()
      let file = try folder.write("people", ArchiveNode.archive([("root", .array(nodes))]))
      try journal.importStore(.archives([file]))
      #expect(
        journal.state.things.map { $0["name"] } == [
          .string("Ana Old"), .string("Bob New"), .string("Ana Old"),
        ])
      #expect(journal.state.things.map { $0["number"] } == [.string("555"), .string("556"), .string("555")])
      #expect(try journal.importStore(.archives([file])).revisions.isEmpty)
      try journal.commit { draft in
        try draft.updateItem(1, set: ["number": .string("777")])
        try draft.addItem(kind: "person", attributes: ["name": .string("C"), "number": .string("1")])
      }
      let out = folder.url.appending(path: "out")
      try journal.exportStore(.archive, to: out)
      let archive = try KeyedArchive(ArchiveBytes(contentsOf: out.appending(path: "people")))
      let texts = try Made.objects(of: archive).map { object in
        var texts: [String: String] = [:]
        for key in try object.keys { texts[key] = try object[key]?.string }
        return texts
      }
      #expect(
        texts == [["fullName": "Ana Old", "phone": "777"], new, old, ["name": "C", "number": "1"]])
    }
  }

  /// One key of a class was used for the items of all its lists.
  @Test func eachListIsExportedUnderItsOwnKeys() throws {
    try withTemporaryFolder { folder in
      let lists: [String: Any] = [
        "a": ["items": [["Title": "a", "Rating": 1.5]]], "b": ["items": [["title": "b", "rating": 2.5]]],
      ]
      let journal = try folder.journal()
      try journal.importStore(.propertyLists([folder.write("lists.plist", Made.propertyList(lists))]))
      let out = folder.url.appending(path: "out")
      try journal.exportStore(.plist, to: out)
      #expect(try Made.read(out.appending(path: "lists.plist")) == lists as NSDictionary)
    }
  }

  @Test func eachArchiveInPreferencesIsExportedUnderItsOwnKeys() throws {
    try withTemporaryFolder { folder in
      let archives = try ["number", "phone"].map { key in
        let person = ArchiveNode(ArchivedClass("JSPerson"), ["name": .string("Ana"), key: .string("1")])
        return try Data(ArchiveNode.archive([("root", .array([.node(person)]))]))
      }
      let file = try folder.write("app.plist", Made.propertyList(["a": archives[0], "b": archives[1]]))
      let journal = try folder.journal()
      try journal.importStore(.defaults(file))
      let out = folder.url.appending(path: "out")
      try journal.exportStore(.defaults, to: out)
      let exported = try #require(try Made.readValue(out.appending(path: "app.plist")) as? [String: Data])
      for (name, key) in [("a", "number"), ("b", "phone")] {
        let archive = try KeyedArchive(ArchiveBytes(try #require(exported[name])))
        #expect(try Made.objects(of: archive).map { try $0[key]?.string } == ["1"])
      }
    }
  }

  /// The list `b` in the archive `a` had the name of the list in the archive `a:b`.
  @Test func listsOfSeveralArchivesInPreferencesStaySeparate() throws {
    try withTemporaryFolder { folder in
      func list(_ name: String) -> ArchiveNode.Value { .array([.node(Made.person(name, "1"))]) }
      let inner = Data(try ArchiveNode.archive(["b": list("B"), "c": list("C")]))
      let other = Data(try ArchiveNode.archive(["root": list("R")]))
      let journal = try folder.journal()
      try journal.importStore(
        .defaults(folder.write("app.plist", Made.propertyList(["a": inner, "a:b": other]))))
      let out = folder.url.appending(path: "out")
      try journal.exportStore(.defaults, to: out)
      let file = out.appending(path: "app.plist")
      let exported = try #require(try Made.readValue(file) as? [String: Data])
      for (key, top, name) in [("a", "b", "B"), ("a", "c", "C"), ("a:b", "root", "R")] {
        let list = try KeyedArchive(ArchiveBytes(try #require(exported[key]))).top(top)?.array
        let names = try list?.elements().map { element -> String? in
          if case .object(let person) = element { try person["name"]?.string } else { nil }
        }
        #expect(names == [name])
      }
      let again = try journal.importStore(.defaults(file))
      #expect(again.added == 0 && again.deleted == 0)
    }
  }

  @Test func keysThatAnUpdateOfTheAppHasRenamedAreExported() throws {
    try withTemporaryFolder { folder in
      let journal = try folder.journal()
      let new: [[String: Any]] = [["title": "a", "rating": 1.5]]
      for list: [[String: Any]] in [[["Title": "a", "Rating": 1.5]], new] {
        try journal.importStore(.propertyLists([folder.write("bugs.plist", Made.propertyList(list))]))
      }
      let out = folder.url.appending(path: "out")
      try journal.exportStore(.plist, to: out)
      #expect(try Made.read(out.appending(path: "bugs.plist")) == new as NSArray)
    }
  }

  /// The reference to a picture was taken for a dictionary of the app.
  @Test func picturesAndLargeDataThatAreElementsAreExported() throws {
    let elements = [Made.png, Made.jpeg, Data(repeating: 7, count: 100_000)]
    try roundTrip([("root", .node(.array(elements.map { .data($0) }, as: .mutableArray)))]) { archive in
      let exported = try archive.root?.array?.elements().compactMap { try $0.data }
      #expect(exported == elements)
    }
    try roundTrip([("root", .data(Made.png))]) { archive in
      let exported = try archive.root?.data
      #expect(exported == Made.png)
    }
  }

  @Test func aCollectionThatIsMutableInSomeObjectsIsMutableInAll() throws {
    let lists = [ArchivedClass.array, .mutableArray].map { kind in
      ArchiveNode(
        ArchivedClass("Album"), ["name": .string("a"), "tags": .node(.array([.string("x")], as: kind))])
    }
    try roundTrip([("root", .array(lists.map { .node($0) }))]) { archive in
      for album in try Made.objects(of: archive) {
        #expect(try Made.object(album["tags"]).className == "NSMutableArray")
      }
    }
  }

  @Test func collectionsBesideAListOfItemsStayImmutable() throws {
    let thread = ArchiveNode(
      ArchivedClass("Thread"),
      [
        "users": .array([person]), "left": .node(.array([], as: .array)),
        "seen": .node(.dictionary([(.string("a"), .integer(1))], as: .dictionary)),
      ])
    try roundTrip([("root", .node(thread))]) { archive in
      guard case .object(let thread)? = try archive.root, case .object(let left)? = try thread["left"],
        case .object(let seen)? = try thread["seen"]
      else {
        Issue.record("no objects")
        return
      }
      #expect([left.className, seen.className] == ["NSArray", "NSDictionary"])
    }
  }

  @Test func theNameOfAnAppsOwnArchiverIsExported() throws {
    try roundTrip([("root", .array([person]))], archiver: "GLKeyedArchiver") { archive in
      #expect(archive.archiver == "GLKeyedArchiver")
    }
  }

  @Test func valuesWithoutAKeyAreExportedWithoutOne() throws {
    let pair = ArchiveNode(
      ArchivedClass("Pair"), ["name": .string("p")], unkeyed: [.integer(1), .string("b")])
    try roundTrip([("root", .array([.node(pair)]))]) { archive in
      let pair = try Made.object(archive.root?.array?[0])
      #expect(try pair.unkeyedValues.elements().map(\.kind) == ["integer", "string"])
    }
  }

  /// `$0` became `$$0`.
  @Test func valuesWithoutAKeyAtTheTopAreExportedWithoutOne() throws {
    try withTemporaryFolder { folder in
      let source = try ArchiveNode.archive(
        [("name", .string("n"))], unkeyed: [.array([person]), .string("b")],
        archiver: KeyedArchiveWriter.standardArchiver)
      #expect(Data(source).range(of: Data("$$".utf8)) == nil)
      let journal = try folder.journal()
      try journal.importStore(.archives([folder.write("things", source)]))
      let out = folder.url.appending(path: "out")
      try journal.exportStore(.archive, to: out)
      let bytes = try Data(contentsOf: out.appending(path: "things"))
      #expect(bytes.range(of: Data("$$".utf8)) == nil)
      let archive = try KeyedArchive(ArchiveBytes(bytes))
      #expect(try archive.topKeys.sorted() == ["$0", "$1", "name"])
      #expect(try archive.top("$0")?.array?.count == 1 && archive.top("$1")?.string == "b")
    }
  }

  /// Archivers put another `$` before such a key; `$class` is the one of an object's class.
  @Test func fieldsWhoseNamesBeginWithADollarSignKeepTheirNames() throws {
    try withTemporaryFolder { folder in
      let part = ArchiveNode(ArchivedClass("Part"), ["$id": .integer(7), "$forms": .string("round")])
      let thing = ArchiveNode(
        ArchivedClass("Thing"),
        [
          "name": .string("t"), "$rank": .integer(1), "$$cost": .string("c"), "$class": .string("1st"),
          "$part": .node(part),
        ])
      let journal = try folder.journal()
      try journal.importStore(
        .archives([folder.write("things", ArchiveNode.array([.node(thing)]).archived())]))
      try journal.commit { try $0.updateItem(1, set: ["$$rank": 2]) }
      let out = folder.url.appending(path: "out")
      #expect(try journal.exportStore(.archive, to: out).isComplete)
      let archive = try KeyedArchive(ArchiveBytes(contentsOf: out.appending(path: "things")))
      let exported = try Made.object(archive.root?.array?[0])
      #expect(exported.className == "Thing")
      #expect(try Set(exported.keys) == ["name", "$rank", "$$cost", "$class", "$part"])
      #expect(try exported["$rank"]?.integer == 2 && exported["$$cost"]?.string == "c")
      #expect(try exported["$class"]?.string == "1st")
      let inner = try Made.object(exported["$part"])
      #expect(inner.className == "Part")
      #expect(try inner["$id"]?.integer == 7 && inner["$forms"]?.string == "round")
      #expect(try journal.importStore(.archives([out.appending(path: "things")])).updated == 0)
    }
  }

  @Test func anNSValueGainsNoFieldsOfOtherValues() throws {
    let shape = ArchiveNode(
      ArchivedClass("Shape"),
      [
        "name": .string("s"),
        "origin": .node(
          ArchiveNode(
            ArchivedClass("NSValue"), ["NS.pointval": .string("{1, 2}"), "NS.special": .integer(1)])),
        "extent": .node(
          ArchiveNode(ArchivedClass("NSValue"), ["NS.sizeval": .string("{3, 4}"), "NS.special": .integer(2)])),
      ])
    try roundTrip([("root", .array([.node(shape)]))]) { archive in
      guard case .object(let shape)? = try archive.root?.array?[0],
        case .object(let origin)? = try shape["origin"], case .object(let extent)? = try shape["extent"]
      else {
        Issue.record("no objects")
        return
      }
      #expect(try origin.keys.sorted() == ["NS.pointval", "NS.special"])
      #expect(try extent.keys.sorted() == ["NS.sizeval", "NS.special"])
    }
  }

  @Test func aClassWithoutAncestorsGetsNone() throws {
    let renamed = ArchiveNode(ArchivedClass(name: "Renamed", chain: [], hints: []), ["name": .string("x")])
    try roundTrip([("root", .array([.node(renamed)]))]) { archive in
      let object = try Made.object(archive.root?.array?[0])
      #expect(object.className == "Renamed")
      #expect(object.classChain.isEmpty)
    }
  }

  /// They became null, without a note.
  @Test func collectionsWhoseClassesHaveNoAncestorsAreKept() throws {
    for ancestors in [[], ["NSObject"]] {
      func node(_ name: String, _ fields: KeyValuePairs<String, ArchiveNode.Value>) -> ArchiveNode.Value {
        let names = ancestors.isEmpty ? [] : [name] + ancestors
        return .node(ArchiveNode(ArchivedClass(name: name, chain: names, hints: []), fields))
      }
      let elements = ArchiveNode.Value.list([.string("x")])
      let note = ArchiveNode(
        ArchivedClass("Note"),
        [
          "array": node("NSMutableArray", ["NS.objects": elements]),
          "set": node("NSMutableSet", ["NS.objects": elements]),
          "ordered": node("NSMutableOrderedSet", ["NS.object.0": .string("x")]),
          "dictionary": node("NSMutableDictionary", ["NS.keys": elements, "NS.objects": elements]),
        ])
      try roundTrip([("root", node("NSMutableArray", ["NS.objects": .list([.node(note)])]))]) { archive in
        let note = try #require(try Made.objects(of: archive).first)
        #expect(try note["array"]?.array?.elements().map { try $0.string } == ["x"])
        #expect(try note["set"]?.set?.elements().map { try $0.string } == ["x"])
        #expect(try note["ordered"]?.set?.elements().map { try $0.string } == ["x"])
        #expect(try note["dictionary"]?.dictionary?["x"]?.string == "x")
      }
    }
  }

  @Test func anArrayThatContainsItselfIsExportedAsSuch() throws {
    for archivedClass in [ArchivedClass.array, .mutableArray, .orderedSet] {
      let array =
        archivedClass == .orderedSet ? ArchiveNode.orderedSet([]) : ArchiveNode.array([], as: archivedClass)
      let key = archivedClass == .orderedSet ? "NS.object.0" : "NS.objects"
      array.set(key, archivedClass == .orderedSet ? .node(array) : .list([.node(array)]))
      defer { array.set(key, .null) }
      try roundTrip([("root", .node(array))]) { archive in
        let root = try #require(try archive.root)
        let members = try #require(try root.array ?? root.set)
        #expect(members.count == 1)
        #expect(try members.reference(at: 0) == archive.reference(forTopKey: "root"))
      }
    }
  }

  @Test func aDictionaryThatContainsItselfIsExportedAsSuch() throws {
    let dictionary = ArchiveNode.dictionary(["name": .string("d")])
    dictionary.set("NS.keys", .list([.string("self"), .string("name")]))
    dictionary.set("NS.objects", .list([.node(dictionary), .string("d")]))
    defer { dictionary.set("NS.objects", .null) }
    try roundTrip([("root", .node(dictionary))]) { archive in
      let root = try #require(try archive.root?.dictionary)
      let position = try #require(try (0..<2).first { try root.key(at: $0).string == "self" })
      #expect(try root.allValues.reference(at: position) == archive.reference(forTopKey: "root"))
    }
  }

  @Test func dictionariesThatContainThemselvesStayDifferentOnes() throws {
    let dictionaries = ["one", "two"].map { name in
      let dictionary = ArchiveNode(.dictionary)
      dictionary.set("NS.keys", .list([.string("self"), .string("name")]))
      dictionary.set("NS.objects", .list([.node(dictionary), .string(name)]))
      return dictionary
    }
    defer { for dictionary in dictionaries { dictionary.set("NS.objects", .null) } }
    let top: [(key: String, value: ArchiveNode.Value)] = [
      ("list", .array([person])), ("one", .node(dictionaries[0])), ("two", .node(dictionaries[1])),
    ]
    try roundTrip(top) { archive in
      for name in ["one", "two"] {
        let dictionary = try #require(try archive.top(name)?.dictionary)
        #expect(try dictionary["name"]?.string == name)
        #expect(try dictionary["self"]?.dictionary?.uid == dictionary.uid)
      }
    }
  }

  @Test func anAttributeThatRefersToItselfIsExported() throws {
    try withTemporaryFolder { folder in
      let journal = try folder.journal()
      try journal.commit { draft in
        try draft.addItem(
          kind: "place",
          attributes: [
            "name": .string("Pier"),
            "loop": .dictionary(["$id": .integer(1), "x": .dictionary(["$ref": .integer(1)])]),
            "nothing": .dictionary(["$ref": .integer(7)]),
          ])
      }
      let out = folder.url.appending(path: "out")
      #expect(try journal.exportStore(.archive, to: out).isComplete)
      let archive = try KeyedArchive(ArchiveBytes(contentsOf: out.appending(path: "annotations")))
      let place = try Made.object(archive.root?.array?[0])
      let loop = try #require(try place["loop"]?.dictionary)
      #expect(try loop["x"]?.dictionary?.uid == loop.uid)
      #expect(try place["nothing"]?.dictionary?["$ref"]?.integer == 7)
    }
  }

  @Test func itemsWithoutAClassThatReferToThemselvesAreExported() throws {
    try withTemporaryFolder { folder in
      let journal = try folder.journal()
      for (name, node) in [
        ("texts", ArchiveNode.array([.string("one"), .string("other")])),
        ("persons", ArchiveNode.array([.dictionary(["name": .string("Ana")])])),
      ] {
        var store = try LegacyStore.archives([folder.write(name, node.archived())])
        store.name = name
        try journal.importStore(store)
      }
      let things = journal.state.things
      #expect(things.count == 3)
      let references = things.map { Reference.make(Reference.item, $0.id.number) }
      try journal.commit { draft in
        try draft.updateItem(things[0].id, set: ["value": references[0]])
        try draft.updateItem(things[2].id, set: ["friend": .array([references[2]])])
      }
      for name in ["texts", "persons"] {
        #expect(
          try journal.exportStore(.archive, name: name, to: folder.url.appending(path: "out-\(name)"))
            .isComplete)
      }
      func root(_ name: String) throws -> ArchivedArray? {
        try KeyedArchive(ArchiveBytes(contentsOf: folder.url.appending(path: "out-\(name)/\(name)"))).root?
          .array
      }
      let texts = try #require(try root("texts"))
      #expect(try texts.count == 2 && texts[1].string == "other")
      let person = try #require(try root("persons")?[0].dictionary)
      #expect(try person["friend"]?.array?[0].dictionary?.uid == person.uid && person.uid != nil)
    }
  }

  @Test func aFieldThatBecameAListIsExportedAsAnArray() throws {
    try withTemporaryFolder { folder in
      let journal = try folder.journal()
      let person = Made.person("Ana", "1")
      person.set("tags", .dictionary(["a": .string("b")]))
      try journal.importStore(
        .archives([folder.write("people", ArchiveNode.array([.node(person)]).archived())]))
      try journal.commit { try $0.updateItem(1, set: ["tags": .array([.string("c")])]) }
      let out = folder.url.appending(path: "out")
      try journal.exportStore(.archive, to: out)
      let archive = try KeyedArchive(ArchiveBytes(contentsOf: out.appending(path: "people")))
      let ana = try Made.object(archive.root?.array?[0])
      #expect(try ana["tags"]?.array?.elements().map { try $0.string } == ["c"])
    }
  }

  /// For each object, an export looked for each field of all others in a list of the fields that some lack.
  @Test func objectsWithManyDifferentFieldsAreExportedInATimeThatGrowsWithTheirNumber() throws {
    func time(_ count: Int) throws -> Double {
      try withTemporaryFolder { folder in
        let rows = (0..<count).map { number in
          ArchiveNode.Value.node(ArchiveNode(ArchivedClass("Row"), ["column \(number)": .string("x")]))
        }
        let journal = try folder.journal()
        try journal.importStore(
          .archives([folder.write("rows", ArchiveNode.archive([("root", .array(rows))]))]))
        return try processorTime {
          let report = try journal.exportStore(.archive, to: folder.url.appending(path: "out"))
          #expect(report.items == count)
        } / .seconds(1)
      }
    }
    #expect(try leastRatio(1_600, to: 200, of: time) < 24)
  }

  @Test func aJournalWithoutToDosWritesNoEmptyLists() throws {
    try withTemporaryFolder { folder in
      let journal = try folder.journal()
      let out = folder.url.appending(path: "out")
      for source in LegacyStore.Source.allCases {
        #expect(throws: LegacyError.self) { try journal.exportStore(source, to: out) }
      }
      #expect(!FileManager.default.fileExists(atPath: out.path))
      try journal.commit { draft in
        try draft.addItem(kind: "toDo", attributes: ["title": .string("Buy"), "done": .bool(false)])
      }
      #expect(try journal.exportStore(.plist, to: out).written == 1)
      #expect(try FileManager.default.contentsOfDirectory(atPath: out.path) == ["toDoItems.plist"])
      // An existing list that should be empty is emptied.
      try journal.commit { draft in try draft.updateItem(1, set: ["done": .bool(true)]) }
      #expect(throws: LegacyError.self) { try journal.exportStore(.plist, to: out) }
      #expect(try journal.exportStore(.plist, to: out, replacing: true).written == 2)
      #expect(try Made.read(out.appending(path: "toDoItems.plist")) as? NSArray == [])
    }
  }
}
