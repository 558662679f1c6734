import Foundation
import KeyedArchiving
import TestSupport
import Testing

@Suite struct CorpusArchiveTests {
  private func archive(_ name: String) throws -> KeyedArchive {
    try KeyedArchive(ArchiveBytes(contentsOf: KeyedCorpus.url(name)))
  }

  @Test func allSoundArchivesAreWalkedToTheEnd() throws {
    let files = try KeyedCorpus.files().filter { ["ok", "cyclic"].contains($0.semantics) }
    #expect(files.count > (KeyedCorpus.hasAdditions ? 95 : 5))
    for file in files {
      let archive = try archive(file.name)
      let inspection = try archive.inspect()
      #expect(inspection.problems.isEmpty, "\(file.name): \(inspection.problems)")
      #expect(inspection.isCyclic == (file.semantics == "cyclic"), "\(file.name)")
      for uid in 0..<archive.objectCount {
        #expect(throws: Never.self, "\(file.name), \(uid)") { _ = try archive.object(uid) }
      }
    }
  }

  @Test(.enabled(if: OtherReader.python != nil, "python3 is missing"))
  func archivesHaveTheContentsThatPythonFinds() throws {
    let python = try #require(OtherReader.python)
    let files = try KeyedCorpus.files().filter { $0.semantics != "-" && $0.expectation == "accept" }
    #expect(files.count > (KeyedCorpus.hasAdditions ? 130 : 20))
    let theirs = try python.run(["-c", referenceScript] + files.map(\.url.path)).output
      .split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    var ours: [String] = []
    for file in files { ours += [file.url.path] + referenceText(file.url) }
    #expect(ours.count == theirs.count - 1)
    for (our, their) in zip(ours, theirs) where our != their {
      Issue.record("ours: \(our.prefix(500))\nPython's: \(their.prefix(500))")
    }
  }

  @Test(.enabled(if: KeyedCorpus.hasAdditions, Comment(rawValue: KeyedCorpus.absence)))
  func aCycleThatAppleWroteKeepsItsIdentity() throws {
    let root = try archive("log2timeline__plaso/backgrounditems.btm").root
    let items = try #require(try root?.dictionary?["backgroundItems"])
    guard case .object(let itemsObject) = items,
      case .object(let container)? = try itemsObject["allContainers"]?.array?[0],
      case .object(let item)? = try container["internalItems"]?.hashTable?[0],
      case .object(let back)? = try item["container"]
    else {
      Issue.record("the archive lacks the objects")
      return
    }
    #expect(back.uid == container.uid)
    #expect(back.className == "BackgroundItemContainer")
    #expect(item.isKind(of: "BackgroundItem"))
  }

  @Test func categoriesAndTheirPlacesReferToEachOther() throws {
    let places = try #require(try archive("synthetic/blocspot_annotations_cyclic.plist").root?.array)
    guard case .object(let place) = try places[0], case .object(let category)? = try place["category"],
      case .object(let same)? = try category["pointsOfInterest"]?.array?[0]
    else {
      Issue.record("the archive lacks the objects")
      return
    }
    #expect(same.uid == place.uid)
    #expect(try category["color"]?.color?.components == [0.2, 0.4, 0.6])
    #expect(try category["categoryImage"]?.isNull == true)
  }

  /// The results that Documentation/KeyedArchives.md names.
  @Test func archivesWithAnomaliesGiveWhatIsDocumented() throws {
    let problems: [String: ArchiveError.Code] = [
      "kiler129__NSKeyedUnarchiver/BrokenData__invalidObjectDeclarationContainer.bin.plist": .malformed,
      "kiler129__NSKeyedUnarchiver/BrokenData__objectWithNoClassName.xml.plist": .malformed,
      "kiler129__NSKeyedUnarchiver/BrokenData__invalidReference.bin.plist": .danglingReference,
      "parabolala__bpylist2/no_class_meta_archive.plist": .malformed,
      "parabolala__bpylist2/invalid_uid_archive.plist": .danglingReference,
      "synthetic/kx_class_inline_dict.plist": .malformed,
      "synthetic/kx_class_is_self.plist": .malformed,
      "synthetic/kx_uid_u32max.plist": .danglingReference,
      "synthetic/kx_xml_cfuid_lookalike.plist": .danglingReference,
    ]
    for (name, code) in problems where KeyedCorpus.hasAdditions || name.hasPrefix("synthetic/") {
      let inspection = try archive(name).inspect()
      #expect(inspection.problems.map(\.code) == [code], "\(name)")
    }
    for name in [
      "danielpaulus__nskeyedarchiver/missing_top.xml", "parabolala__bpylist2/no_top_archive.plist",
      "kiler129__NSKeyedUnarchiver/BrokenData__invalidContainer.bin.plist",
      "parabolala__bpylist2/no_objects_archive.plist",
    ] where KeyedCorpus.hasAdditions {
      #expect(code { _ = try archive(name) } == .notAnArchive, "\(name)")
    }
  }

  @Test func anyVersionArchiverAndTopKeysAreReported() throws {
    #expect(try archive("synthetic/kx_version_99.plist").version == 99)
    if KeyedCorpus.hasAdditions {
      #expect(try archive("danielpaulus__nskeyedarchiver/missing_version.xml").version == nil)
    }
    #expect(try archive("synthetic/archiver_GLKeyedArchiver.plist").archiver == "GLKeyedArchiver")
    #expect(try archive("synthetic/archiver_GLKeyedArchiver.plist").root?.string == "x")
    let bug = try archive("synthetic/1.scarybug/data.plist")
    #expect(try bug.topKeys == ["Data"])
    guard case .object(let data)? = try bug.top("Data") else {
      Issue.record("no object")
      return
    }
    #expect(try data["Title"]?.string == "Potato Bug")
    #expect(try data["Rating"]?.double == 4)
    let inline = try archive("synthetic/kx_root_scalar_inline.plist")
    #expect(try inline.topKeys.sorted() == ["f", "flag", "root"])
    #expect(try inline.root?.integer == 5)
    #expect(try inline.top("flag")?.bool == true)
    #expect(try inline.top("f")?.double == 1.5)
    let empty = try archive("synthetic/kx_objects_empty.plist")
    #expect(empty.objectCount == 0)
    #expect(try empty.root == nil)
    #expect(try empty.object(0).isNull)
  }

  @Test func valuesWithAmbiguousMeaningsAreDistinguished() throws {
    let strings = try #require(try archive("synthetic/string_dollar_null.plist").root?.array)
    #expect(try strings[0].isNull)
    #expect(try strings[1].string == "x")
    let pairs = try #require(try archive("synthetic/dict_with_nil_value_ref.plist").root?.dictionary)
    #expect(pairs.count == 2)
    #expect(try pairs["k2"]?.isNull == true)
    guard case .object(let escaped)? = try archive("synthetic/escaped_key.plist").root else {
      Issue.record("no object")
      return
    }
    #expect(try escaped.keys == ["$special", "plain"])
    #expect(try escaped["$special"]?.integer == 7)
    #expect(try escaped["$class"] == nil)
    #expect(try archive("synthetic/kx_string_bytes.plist").root?.string == "naïve")
  }

  @Test func viewsOfBrokenObjectsAreErrors() throws {
    #expect(code { _ = try archive("synthetic/indexed_array_gap.plist").root?.array } == .malformed)
    #expect(
      code { _ = try archive("synthetic/kx_keys_objects_mismatch.plist").root?.dictionary } == .malformed)
    #expect(code { _ = try archive("synthetic/kx_url_base_cycle.plist").root?.url } == .cyclic)
    #expect(code { _ = try archive("synthetic/kx_oldstyle_array_huge.plist").root?.array } == .malformed)
    #expect(code { _ = try archive("synthetic/kx_date_garbage.plist").root?.date } == .malformed)
    #expect(try archive("synthetic/kx_date_garbage.plist").root?.secondsSince2001?.isNaN == true)
  }

  @Test func sharedAndDeepGraphsAreInspectedWithoutBeingExpanded() throws {
    let chain = try archive("synthetic/dos_keyed_chain_1000.plist").inspect()
    #expect(chain.classes.map(\.description.name) == ["Node"])
    #expect(chain.objectCount >= 1000)
    #expect(chain.problems.isEmpty)
    let laughs = try archive("synthetic/dos_keyed_laughs_10e12.plist").inspect()
    #expect(laughs.objectCount < 20)
  }
}
