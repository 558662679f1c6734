import Foundation
import KeyedArchiving
import Testing

@Suite struct KeyedArchiveTests {
  @Test func anyObjectIsReadAsItsClassAndFields() throws {
    let archive = try makeArchive(
      object(3, ["name": uid(2), "count": int(7), "nothing": uid(0)]), text("Ana"),
      classEntry("App.Person", "Base", hints: ["Human"]))
    guard case .object(let person)? = try archive.root else {
      Issue.record("no object")
      return
    }
    #expect(person.uid == 1)
    #expect(person.className == "App.Person")
    #expect(person.classChain == ["App.Person", "Base", "NSObject"])
    #expect(["App.Person", "Base", "NSObject", "Human"].allSatisfy(person.isKind))
    #expect(!person.isKind(of: "Person"))
    #expect(try person.keys == ["name", "count", "nothing"])
    #expect(try person["name"]?.string == "Ana")
    #expect(try person["count"]?.integer == 7)
    #expect(try person["nothing"]?.isNull == true)
    #expect(try person["name"]?.integer == nil)
    #expect(try person["nobody"] == nil)
    #expect(try person.reference(forKey: "name") == 2)
    #expect(try person.reference(forKey: "nothing") == 0)
    #expect(try person.reference(forKey: "count") == nil)
  }

  @Test func circularReferencesKeepTheirIdentity() throws {
    let archive = try makeArchive(
      object(3, ["other": uid(2), "me": uid(1)]), object(3, ["other": uid(1)]), classEntry("Node"))
    guard case .object(let first)? = try archive.root, case .object(let second)? = try first["other"],
      case .object(let back)? = try second["other"], case .object(let me)? = try first["me"]
    else {
      Issue.record("no object")
      return
    }
    #expect(back.uid == first.uid)
    #expect(me.uid == first.uid)
    #expect(second.uid != first.uid)
    let inspection = try archive.inspect()
    #expect(inspection.isCyclic)
    #expect(inspection.objectCount == 2)
  }

  /// Two classes that differed only in their names used to be equal but have different hashes, which ended the process
  /// when a damaged archive with many of them was inspected.
  @Test func classesWithTheSameAncestorsAndOtherNamesAreNotTheSame() throws {
    let names = (0..<200).map { "Class\($0)" }
    let archive = try makeArchive(
      topText: names.indices.map { key("object \($0)") + uid($0 + 1) }.joined(),
      names.indices.map { object(names.count + 1 + $0, [:]) }
        + names.map { "<dict>" + key("$classname") + text($0) + "</dict>" })
    let inspection = try archive.inspect()
    #expect(Set(inspection.classes.map(\.description.name)) == Set(names))
    guard case .object(let first) = try archive.object(1), case .object(let second) = try archive.object(2)
    else {
      Issue.record("no object")
      return
    }
    #expect(first.objectClass != second.objectClass)
  }

  @Test func allTopValuesCanBeReached() throws {
    let archive = try makeArchive(
      topText: key("RecordID") + uid(1) + key("HasParent") + no + key("$0") + uid(2),
      [text("a"), text("b")])
    #expect(try archive.topKeys == ["RecordID", "HasParent", "$0"])
    #expect(try archive.top("RecordID")?.string == "a")
    #expect(try archive.top("HasParent")?.bool == false)
    #expect(try archive.top("$0")?.string == "b")
    #expect(try archive.top("other") == nil)
    #expect(try archive.root == nil, "of several values, none of them root, none is the root")
  }

  @Test func onlyADictionaryWithOneIntegerNamedCFUIDIsAReference() throws {
    let archive = try makeArchive(
      object(
        3,
        [
          "two": "<dict>" + key("CF$UID") + int(2) + key("x") + int(1) + "</dict>",
          "real": "<dict>" + key("CF$UID") + real("2") + "</dict>",
          "other": "<dict>" + key("UID") + int(2) + "</dict>",
          "one": uid(2),
        ]), text("text"), classEntry("C"))
    guard case .object(let object)? = try archive.root else {
      Issue.record("no object")
      return
    }
    #expect(try object["two"]?.dictionary?.count == 2)
    #expect(try object["real"]?.dictionary?["CF$UID"]?.double == 2)
    #expect(try object["other"]?.dictionary?["UID"]?.integer == 2)
    #expect(try object["one"]?.string == "text")
  }

  @Test func collectionsWithinFieldsHoldReferencesToo() throws {
    let archive = try makeArchive(
      object(2, ["list": list(uid(1), int(5), uid(0))]), classEntry("C"))
    guard case .object(let object)? = try archive.root, let list = try object["list"]?.array else {
      Issue.record("no list")
      return
    }
    #expect(list.count == 3)
    guard case .object(let same) = try list[0] else {
      Issue.record("no object")
      return
    }
    #expect(same.uid == object.uid)
    #expect(try list[2].isNull)
    #expect(code { _ = try list[3] } == .missing)
    #expect(code { _ = try list[-1] } == .missing)
    #expect(try archive.inspect().isCyclic)
  }

  @Test func aReferenceToNowhereIsAnErrorThatNamesItsHolder() throws {
    let archive = try makeArchive(object(2, ["a": uid(9)]), classEntry("C"))
    guard case .object(let object)? = try archive.root else {
      Issue.record("no object")
      return
    }
    do {
      _ = try object["a"]
      Issue.record("there was no error")
    } catch {
      #expect(error.code == .danglingReference)
      #expect(error.object == 1)
      #expect("\(error)".contains("entry 9"))
    }
    #expect(code { _ = try archive.object(9) } == .danglingReference)
    #expect(code { _ = try archive.object(-1) } == .danglingReference)
  }

  @Test func aPropertyListThatIsNoArchiveIsRefused() throws {
    for text in [
      "<array/>", "<dict/>", "<dict><key>$archiver</key><string>NSKeyedArchiver</string></dict>",
      "<dict><key>$archiver</key><integer>1</integer><key>$objects</key><array/><key>$top</key><dict/></dict>",
      "<dict><key>$archiver</key><string>A</string><key>$objects</key><dict/><key>$top</key><dict/></dict>",
      "<dict><key>$archiver</key><string>A</string><key>$objects</key><array/><key>$top</key><array/></dict>",
    ] {
      let list = try PropertyList(ArchiveBytes([UInt8](#"<plist version="1.0">\#(text)</plist>"#.utf8)))
      #expect(code { _ = try KeyedArchive(list) } == .notAnArchive, "\(text)")
    }
  }

  @Test func anInspectionCountsFieldsAndTheirKinds() throws {
    let archive = try makeArchive(
      object(4, ["NS.objects": list(uid(2), uid(3), uid(2))]), object(5, ["title": uid(6), "done": yes]),
      object(5, ["title": uid(0), "done": no, "late": uid(9)]), classEntry("NSArray"), classEntry("ToDo"),
      text("Milk"))
    let inspection = try archive.inspect()
    #expect(inspection.classes.map(\.description.name) == ["ToDo", "NSArray"])
    let toDo = inspection.classes[0]
    #expect(toDo.count == 2)
    #expect(toDo.fields.map(\.name) == ["done", "late", "title"])
    #expect(toDo.fields.map(\.count) == [2, 1, 2])
    #expect(toDo.fields[2].kinds.map { "\($0.kind) \($0.count)" } == ["null 1", "string 1"])
    #expect(inspection.kinds.first { $0.kind == "ToDo" }?.count == 3)
    #expect(inspection.problems.map(\.code) == [.danglingReference])
    #expect(!inspection.isCyclic)
  }

  @Test func collectionsThatAreTooLongForTheLimitsAreNotDecodedAsAWhole() throws {
    var limits = ArchiveLimits()
    limits.valueCount = 20
    let elements = String(repeating: int(1), count: 30)
    let archive = try makeArchive(
      limits: limits, object(2, ["NS.objects": "<array>\(elements)</array>"]), classEntry("NSArray"))
    let array = try #require(try archive.root?.array)
    #expect(array.count == 30)
    #expect(try array[29].integer == 1)
    #expect(code { _ = try array.elements() } == .limitExceeded)
  }

  @Test func classesWithEndlessListsOfNamesAreRefused() throws {
    let names = String(repeating: text("N"), count: 300)
    let archive = try makeArchive(
      object(2), "<dict>" + key("$classname") + text("C") + key("$classes") + "<array>\(names)</array></dict>"
    )
    #expect(code { _ = try archive.root } == .limitExceeded)
  }
}
