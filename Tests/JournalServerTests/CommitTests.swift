import CatalogModel
import Foundation
import JSON
import JournalServer
import TestSupport
import Testing

/// Changes to a journal over HTTP.
@Suite struct CommitTests {
  @Test func aCommitIsAnsweredWithItsEntry() throws {
    try withBooks { (served) throws in
      let bytes = Array("an image".utf8)
      let blob = try served.ask("POST", "/api/blobs", ["Content-Type": "image/png"], body: bytes)
      #expect(blob.status == 201)
      let sha256 = try #require(try blob.json()["sha256"]?.string)
      let answer = try served.post(
        "/api/commits",
        """
        {"author":"eve","note":"new arrivals","metadata":{"device":"curl"},"date":"2020-01-02T03:04:05Z","events":[
          {"operation":"add","entity":"category","changes":{"name":"Poems","color":"#FF8000"}},
          {"operation":"add","changes":{"kind":"book","category":1,"attributes":{"title":"Solaris","read":{"$date":"2026-01-02T00:00:00Z"}}}},
          {"operation":"add","entity":"image","changes":{"item":2,"name":"e.png","mediaType":"image/png","sha256":"\(sha256)","byteCount":8}},
          {"operation":"update","entity":"item:1","changes":{"attributes":{"stars":4},"removed":["title"],"category":null}},
          {"operation":"delete","entity":"item:3"},
          {"operation":"add","entity":"tag","changes":{"name":"before-eve","revision":3}}]}
        """)
      #expect(answer.status == 201, "\(answer.text)")
      let entry = try served.journal.entry(at: 4)
      var writer = JSONWriter()
      writer.value(entry.json)
      writer.newline()
      #expect(answer.body == writer.bytes)
      #expect(entry.author == "eve" && entry.metadata == ["device": "curl"])
      #expect(entry.clockDate == Timestamp("2020-01-02T03:04:05Z")?.date && entry.date > entry.clockDate)
      let state = served.journal.state
      #expect(
        state.item(1)!["stars"] == 4 && state.item(1)!["title"] == nil && state.item(1)!.category == nil)
      #expect(state.item(4)!["read"]?.date == Timestamp("2026-01-02T00:00:00Z")?.date)
      #expect(state.item(3) == nil)
      #expect(state.tag(named: "before-eve")?.revision == 3)
      #expect(try served.get("/api/images/2/content").body == bytes)
    }
  }

  @Test func aTagIsShownAndDeletedByItsNumber() throws {
    try withBooks { served in
      try served.journal.tag("early", at: .revision(1), by: "ana")
      let tag = try #require(served.journal.state.tag(named: "early"))
      #expect(served.journal.state.tag(tag.id) == tag)
      let name = "tag:\(tag.id.number)"
      #expect(try served.get("/api/entities/\(name)").json()["entity"]?["name"] == "early")
      let answer = try served.post(
        "/api/commits", "{\"events\":[{\"operation\":\"delete\",\"entity\":\"\(name)\"}]}")
      #expect(answer.status == 201, "\(answer.text)")
      #expect(served.journal.state.tag(tag.id) == nil && served.journal.state.tags.count == 1)
    }
  }

  @Test func oneCommitAddsAnItemAndItsImage() throws {
    try withBooks { (served) throws in
      let blob = try served.ask("POST", "/api/blobs", ["Content-Type": "image/png"], body: Array("new".utf8))
      let sha256 = try #require(try blob.json()["sha256"]?.string)
      let image =
        "{\"operation\":\"add\",\"entity\":\"image\",\"changes\":{\"item\":\"solaris\",\"name\":\"s.png\",\"mediaType\":\"image/png\",\"sha256\":\"\(sha256)\",\"byteCount\":3}}"
      let item =
        "{\"operation\":\"add\",\"as\":\"solaris\",\"changes\":{\"kind\":\"book\",\"category\":\"poems\"}}"
      let category =
        "{\"operation\":\"add\",\"entity\":\"category\",\"as\":\"poems\",\"changes\":{\"name\":\"Poems\"}}"
      let move = "{\"operation\":\"update\",\"entity\":\"item:1\",\"changes\":{\"category\":\"poems\"}}"
      func commit(_ events: [String]) throws -> Answer {
        try served.post("/api/commits", "{\"events\":[\(events.joined(separator: ","))]}")
      }
      // A name must refer to exactly one entity, which an earlier event added and which has the right kind.
      for events in [
        [image], [image, item, category], [item, image], [category, item, item],
        [category.replacing("poems", with: "solaris"), image], [move],
        [move.replacing("\"entity\"", with: "\"as\":\"a\",\"entity\"")],
      ] {
        let answer = try commit(events)
        #expect(answer.status == 400 && answer.code == "wrongUse", "\(answer.text)")
      }
      #expect(served.journal.head.revision == 3)
      let answer = try commit([category, item, image, move])
      #expect(answer.status == 201, "\(answer.text)")
      #expect(served.journal.head.revision == 4)
      let state = served.journal.state
      #expect(state.images(of: 4).map(\.name) == ["s.png"])
      #expect(state.item(4)?.category == state.item(1)?.category)
      #expect(state.item(1)?.category.flatMap { state.category($0)?.name } == "Poems")
    }
  }

  @Test func aCommitOnAnOldStateIsRefusedWithTheChangesSince() throws {
    try withBooks { (served) throws in
      let seen = try #require(try served.get("/api/entities/item:1").headers["etag"])
      #expect(seen == "\"item:1@2\"")
      let body =
        "{\"events\":[{\"operation\":\"update\",\"entity\":\"item:1\",\"changes\":{\"attributes\":{\"stars\":1}}}]}"
      try served.journal.commit(by: "eve", note: "meanwhile") { try $0.updateItem(1, set: ["stars": 2]) }
      let refused = try served.post("/api/commits", body, ["If-Match": seen])
      #expect(refused.status == 409)
      #expect(refused.code == "conflict")
      #expect(try refused.json()["since"]?[0]?["author"] == "eve")
      #expect(try refused.json()["since"]?[0]?["changes"]?["stars"] == ["old": 5, "new": 2])
      #expect(served.journal.state.item(1)!["stars"] == 2)
      let now = try #require(try served.get("/api/entities/item:1").headers["etag"])
      #expect(try served.post("/api/commits", body, ["If-Match": now]).status == 201)
      #expect(try served.post("/api/commits", body, ["If-Match": "\"journal@1\""]).status == 409)
      #expect(try served.post("/api/commits", body, ["If-Match": "item:1"]).status == 400)
    }
  }

  /// `previous` was ignored, so the change of another client was lost.
  @Test func aCommitChecksThePreviousRevisionsOfItsEvents() throws {
    try withBooks { (served) throws in
      func commit(_ event: String) throws -> Answer {
        try served.post("/api/commits", "{\"events\":[{\(event)}]}")
      }
      let update =
        #""operation":"update","entity":"item:1","changes":{"attributes":{"stars":1}},"previous":"#
      try served.journal.commit(by: "eve", note: "meanwhile") { try $0.updateItem(1, set: ["stars": 2]) }
      for (previous, count) in [(2, 1), (999, 0)] {
        let refused = try commit("\(update)\(previous)")
        #expect(refused.status == 409 && refused.code == "conflict", "\(refused.text)")
        #expect(try refused.json()["since"]?.array?.count == count, "\(refused.text)")
      }
      #expect(try commit(#""operation":"delete","entity":"item:2","previous":4"#).status == 409)
      #expect(try commit(#""operation":"delete","entity":"item:2","previous":"1""#).status == 400)
      #expect(try commit(#""operation":"add","previous":4,"changes":{"kind":"book"}"#).status == 400)
      #expect(served.journal.head.revision == 4 && served.journal.state.item(1)!["stars"] == 2)
      #expect(try commit("\(update)4").status == 201)
      #expect(try commit(#""operation":"delete","entity":"item:2","previous":1"#).status == 201)
      #expect(try commit(#""operation":"delete","entity":"item:3","previous":null"#).status == 201)
      #expect(try commit(#""operation":"add","previous":null,"changes":{"kind":"book"}"#).status == 201)
    }
  }

  @Test func anUndoOfAGroupTakesBackAllItsEntries() throws {
    try withBooks { (served) throws in
      let before = served.journal.state.item(1)!.attributes
      for stars in 1...3 {
        let answer = try served.post(
          "/api/commits",
          #"""
          {"author":"eve","metadata":{"journal.group":"stars"},"events":[{"operation":"update","entity":"item:1",
          "changes":{"attributes":{"stars":\#(stars),"seen":\#(stars)}}}]}
          """#)
        #expect(answer.status == 201, "\(answer.text)")
      }
      let undone = try served.post("/api/undo", #"{"author":"eve"}"#)
      #expect(undone.status == 201, "\(undone.text)")
      #expect(try undone.json()["note"] == "undid entries 4-6" && undone.json()["revision"] == 7)
      #expect(served.journal.state.item(1)!.attributes == before)
      #expect(try served.post("/api/redo", #"{"author":"eve"}"#).status == 201)
      #expect(served.journal.state.item(1)!["stars"] == 3)
    }
  }

  /// The header was ignored.
  @Test(
    arguments: [
      ("restore", #"{"entities":["item:1"],"at":"r1"}"#),
      ("restore", #"{"entities":["item:1"],"at":"HEAD"}"#),
      ("revert", #"{"revision":2}"#), ("undo", "{}"), ("redo", "{}"),
    ] as [(String, String)])
  func aPlanIsCommittedOnlyIfTheVersionsOfIfMatchAreCurrent(verb: String, body: String) throws {
    try withBooks { (served) throws in
      try served.journal.commit(by: "ana") { try $0.updateItem(2, set: ["stars": 1]) }
      if verb == "redo" { #expect(try served.post("/api/undo", "{}").status == 201) }
      let head = served.journal.head
      let refused = try served.post("/api/\(verb)", body, ["If-Match": "\"item:1@1\""])
      #expect(refused.status == 409 && refused.code == "conflict", "\(refused.text)")
      #expect(try refused.json()["since"]?[0]?["author"] == "bob", "\(refused.text)")
      #expect(try served.post("/api/\(verb)", body, ["If-Match": "item:1"]).status == 400)
      #expect(served.journal.head == head)
      let done = try served.post("/api/\(verb)", body, ["If-Match": "\"item:1@2\""])
      #expect(done.status == (body.contains("HEAD") ? 200 : 201), "\(done.text)")
    }
  }

  /// The attribute was set.
  @Test func anAttributeThatIsBothSetAndRemovedIsRefused() throws {
    try withBooks { (served) throws in
      func commit(_ changes: String) throws -> Answer {
        try served.post(
          "/api/commits", #"{"events":[{"operation":"update","entity":"item:1","changes":\#(changes)}]}"#)
      }
      let refused = try commit(#"{"attributes":{"stars":1,"title":"X"},"removed":["shelf","stars"]}"#)
      #expect(refused.status == 400)
      let message = try refused.json()["error"]?["message"]?.string
      #expect(message?.contains("\"stars\" is both in attributes and in removed") == true, "\(refused.text)")
      #expect(served.journal.head.revision == 3)
      // Two spellings are two names.
      #expect(try commit(#"{"attributes":{"caf\u00e9":1},"removed":["cafe\u0301"]}"#).status == 201)
    }
  }

  /// The date was shown as the start of the year 10000, and written as seconds.
  @Test func theLastMomentOfTheYear9999StaysInIt() throws {
    try withBooks { (served) throws in
      func commit(_ date: String) throws -> Answer {
        try served.post(
          "/api/commits",
          #"{"events":[{"operation":"update","entity":"item:1","changes":{"attributes":{"due":\#(date)}}}]}"#)
      }
      #expect(try commit(#"{"$date":"9999-12-31T23:59:59.999999Z"}"#).status == 201)
      let item = try served.get("/api/entities/item:1")
      let date = #"{"$date":"9999-12-31T23:59:59.999969Z"}"#
      #expect(item.text.contains(date), "\(item.text)")
      // What was read is the same date.
      #expect(try commit(date).status == 200)
    }
  }

  @Test func aRestoreDoesWhatWasPreviewedOrIsRefused() throws {
    try withBooks { (served) throws in
      let request = "\"entities\":[\"item:1\"],\"fields\":[\"title\"],\"at\":\"r1\""
      let preview = try served.post("/api/restore", "{\(request),\"dryRun\":true}")
      #expect(preview.status == 200)
      #expect(try preview.json()["changes"]?[0]?["changes"]?["title"] == ["old": "Dune", "new": "Dun"])
      #expect(try preview.json()["undoes"]?[0]?["author"] == "bob")
      #expect(served.journal.head.revision == 3)
      let plan = try #require(try preview.json()["plan"]?.string)
      try served.journal.commit(by: "eve") { try $0.updateItem(1, set: ["title": "Duna"]) }
      #expect(try served.post("/api/restore", "{\(request),\"plan\":\"\(plan)\"}").status == 409)
      #expect(served.journal.state.item(1)!["title"] == "Duna")
      let again = try #require(
        try served.post("/api/restore", "{\(request),\"dryRun\":true}").json()["plan"]?.string)
      let done = try served.post("/api/restore", "{\(request),\"plan\":\"\(again)\",\"note\":\"it was Dun\"}")
      #expect(done.status == 201)
      #expect(try done.json()["revision"] == 5)
      #expect(served.journal.state.item(1)!["title"] == "Dun")
      #expect(try served.journal.entry(at: 5).author == "ana")
      let undone = try served.post("/api/undo", "{}")
      #expect(undone.status == 201)
      #expect(served.journal.state.item(1)!["title"] == "Duna")
      #expect(try served.post("/api/redo", "{}").status == 201)
      #expect(served.journal.state.item(1)!["title"] == "Dun")
    }
  }

  /// The same undo was answered again and again, without a change.
  @Test func anUndoThatKeepsLaterEditsSkipsEntriesOfWhichNothingIsLeft() throws {
    try withBooks { (served) throws in
      try served.journal.commit(by: "ana") { try $0.updateItem(2, set: ["stars": 1]) }
      try served.journal.commit(by: "ana") { try $0.updateItem(1, set: ["title": "Duna"]) }
      try served.journal.commit(by: "bob") { try $0.updateItem(1, set: ["title": "Dune 2"]) }
      #expect(try served.post("/api/undo", "{}").status == 409)
      let undone = try served.post("/api/undo", #"{"later":"keep"}"#)
      #expect(undone.status == 201)
      #expect(served.journal.state.item(2)?["stars"] == 4)
      #expect(served.journal.state.item(1)?["title"] == "Dune 2")
    }
  }

  @Test func aNamedItemThatDidNotExistThenIsDeletedOnlyOnRequest() throws {
    try withBooks { (served) throws in
      let made = try served.journal.commit(by: "eve") { try $0.addItem(kind: "book") }
      let request = "\"entities\":[\"\(Catalog.name(of: made.value.entity))\"],\"at\":\"r1\""
      let refused = try served.post("/api/restore", "{\(request)}")
      #expect(refused.status == 409 && refused.text.contains("did not exist then"), "\(refused.text)")
      #expect(try refused.json()["conflicts"]?[0]?["author"] == "eve", "\(refused.text)")
      #expect(try served.post("/api/restore", "{\(request),\"later\":\"keep\"}").status == 200)
      #expect(served.journal.head.revision == made.revision)
      #expect(try served.post("/api/restore", "{\(request),\"later\":\"override\"}").status == 201)
      #expect(served.journal.state.item(made.value) == nil)
    }
  }

  @Test func severalItemsAreRestoredInOneEntryAndNewFieldsAreKeptOnRequest() throws {
    try withBooks { (served) throws in
      try served.journal.commit(by: "eve") { draft in
        try draft.updateItem(1, set: ["title": "X", "shelf": "attic"])
        try draft.updateItem(2, set: ["title": "Y", "shelf": "attic"])
        try draft.updateItem(3, set: ["title": "Z"])
      }
      let request = "\"entities\":[\"item:1\",\"item:2\"],\"at\":\"r3\""
      let preview = try served.post("/api/restore", "{\(request),\"keepNew\":true,\"dryRun\":true}").json()
      #expect(preview["changes"]?.array?.count == 2)
      #expect(preview["changes"]?[0]?["changes"] == ["title": ["old": "X", "new": "Dune"]])
      // A plan that was shown with `keepNew` is not valid without it.
      let plan = try #require(preview["plan"]?.string)
      #expect(try served.post("/api/restore", "{\(request),\"plan\":\"\(plan)\"}").status == 409)
      #expect(
        try served.post("/api/restore", "{\(request),\"keepNew\":true,\"plan\":\"\(plan)\"}").status == 201)
      var state = served.journal.state
      #expect(state.item(1)!["title"] == "Dune" && state.item(1)!["shelf"] == "attic")
      #expect(state.item(2)!["title"] == "Emma" && state.item(3)!["title"] == "Z")
      #expect(served.journal.head.revision == 5)
      #expect(try served.post("/api/restore", "{\(request)}").status == 201)
      state = served.journal.state
      #expect(state.item(1)!["shelf"] == nil && state.item(2)!["shelf"] == nil)
      #expect(try served.post("/api/restore", "{\(request),\"keepNew\":1}").status == 400)
      #expect(served.journal.head.revision == 6)
    }
  }

  @Test func aRevertNamesTheEditsThatBlockIt() throws {
    try withBooks { (served) throws in
      try served.journal.commit(by: "eve") { try $0.updateItem(1, set: ["stars": 1]) }
      let refused = try served.post("/api/revert", "{\"revision\":2}")
      #expect(refused.status == 409)
      #expect(try refused.json()["conflicts"]?[0]?["author"] == "eve")
      // A preview shows what overriding that edit does, and may be confirmed as such.
      for (path, body) in [("/api/revert", #""revision":2"#), ("/api/undo", #""author":"bob""#)] {
        let shown = try served.post(path, "{\(body),\"dryRun\":true}").json()
        let stars = shown["changes"]?[0]?["changes"]?["stars"]
        #expect(stars?["old"] == 1 && stars?["new"] == 3, "\(shown)")
        #expect(shown["conflicts"]?[0]?["fields"] == ["stars"])
        let override = try served.post(path, "{\(body),\"later\":\"override\",\"dryRun\":true}").json()
        #expect(override["plan"] == shown["plan"] && override["conflicts"] == [])
      }
      #expect(try served.post("/api/revert", "{\"revision\":2,\"later\":\"keep\"}").status == 201)
      #expect(served.journal.state.item(1)!["title"] == "Dun" && served.journal.state.item(1)!["stars"] == 1)
      #expect(try served.post("/api/restore", "{\"all\":true,\"at\":\"1\"}").status == 201)
      #expect(served.journal.state.item(1)!["stars"] == 3)
    }
  }

  @Test func anEntryThatOnlyMadeATagCanNotBeReverted() throws {
    try withBooks { (served) throws in
      try served.journal.tag("early", at: .revision(1), by: "ana")
      let revision = served.journal.head.revision
      for dryRun in [true, false] {
        let refused = try served.post("/api/revert", "{\"revision\":\(revision),\"dryRun\":\(dryRun)}")
        #expect(refused.status == 400 && refused.text.contains("it changed only tag:2"), "\(refused.text)")
      }
      #expect(served.journal.head.revision == revision)
    }
  }

  @Test func invalidRequestsAreRefusedAndNothingIsWritten() throws {
    try withBooks { (served) throws in
      let event = "\"operation\":\"update\",\"entity\":\"item:1\""
      let blob = try served.journal.blobs.add(Data("x".utf8))
      try served.journal.commit(by: "ana") { draft in
        _ = try draft.addImage(to: 1, name: "x", mediaType: "a/b", blob: blob)
        _ = try draft.addTag("early", at: 1)
      }
      for (body, status) in [
        // Changes that no update makes were dropped, and the rest was committed.
        (#"{"events":[{"operation":"update","entity":"image:1","changes":{"item":403}}]}"#, 400),
        (#"{"events":[{"operation":"update","entity":"image:1","changes":{"byteCount":3}}]}"#, 400),
        (#"{"events":[{"operation":"update","entity":"tag:1","changes":{}}]}"#, 400),
        (#"{"events":[{"operation":"delete","entity":"tag:99"}]}"#, 422),
        (#"{"events":[{"operation":"add","changes":{"kind":"a","removed":["b"]}}]}"#, 400),
        ("{\"events\":[{\(event),\"changes\":{\"kind\":null}}]}", 400),
        ("", 400), ("{", 400), ("[]", 400), ("{}", 400), ("{\"events\":[]}", 400), ("{\"events\":{}}", 400),
        ("{\"frob\":1}", 400),
        ("{\"events\":[{}]}", 400), ("{\"events\":[{\"operation\":\"frob\"}]}", 400),
        ("{\"events\":[{\"operation\":\"add\",\"entity\":\"item:9\",\"changes\":{\"kind\":\"x\"}}]}", 400),
        ("{\"events\":[{\"operation\":\"add\",\"changes\":{\"kind\":\"\"}}]}", 422),
        ("{\"events\":[{\"operation\":\"delete\",\"entity\":\"item:99\"}]}", 422),
        ("{\"events\":[{\"operation\":\"delete\",\"entity\":\"item:1\",\"changes\":{\"kind\":\"x\"}}]}", 400),
        ("{\"events\":[{\(event),\"changes\":{\"category\":77}}]}", 422),
        ("{\"events\":[{\(event),\"changes\":{\"attributes\":[1]}}]}", 400),
        ("{\"events\":[{\(event),\"changes\":{\"stars\":1}}]}", 400),
        ("{\"author\":7,\"events\":[{\(event),\"changes\":{\"attributes\":{\"a\":1}}}]}", 400),
        (
          "{\"events\":[{\"operation\":\"add\",\"entity\":\"image\",\"changes\":{\"item\":1,\"name\":\"n\",\"mediaType\":\"m\",\"sha256\":\""
            + String(repeating: "0", count: 64) + "\",\"byteCount\":5}}]}", 422
        ),
      ] {
        let answer = try served.post("/api/commits", body)
        #expect(answer.status == status, "\(body): \(answer.status) \(answer.text)")
        #expect(answer.code != nil, "\(body)")
      }
      #expect(try served.post("/api/commits", "{}", ["Content-Type": "text/plain"]).status == 415)
      // A commit that changes nothing makes no entry.
      let nothing = try served.post(
        "/api/commits", "{\"events\":[{\(event),\"changes\":{\"attributes\":{\"stars\":5}}}]}")
      #expect(nothing.status == 200)
      #expect(try nothing.json()["empty"] == true)
      let tag = try served.post("/api/restore", #"{"entities":["item:1","tag:1"],"at":"r1"}"#)
      #expect(tag.status == 400 && tag.text.contains("tag:1 can't be restored"))
      #expect(served.journal.head.revision == 4)
    }
  }

  /// They were answered with no changes.
  @Test func aRestoreOfWhatDoesNotExistIsRefusedByItsName() throws {
    try withBooks { (served) throws in
      try served.journal.commit(by: "eve") { draft in
        try draft.setName(ofCategory: 1, to: "Prose")
        try draft.setKind(ofItem: 2, to: "novel")
        try draft.deleteItem(3)
      }
      for (scope, status, reason) in [
        (#""entities":["item:1"],"fields":["title","nope"],"at":"r1""#, 404, "the attribute \"nope\""),
        (#""all":true,"fields":["nope"],"at":"r1""#, 404, "the attribute \"nope\""),
        (#""entities":["item:2"],"fields":["@name"],"at":"r1""#, 404, "the field @name"),
        (#""entities":["item:1"],"fields":["@nope"],"at":"r1""#, 400, "no field @nope"),
        (#""entities":["item:1"],"fields":[],"at":"r1""#, 400, "fields names no attribute"),
        (#""kind":"nope","at":"r1""#, 404, "no item has the kind \"nope\""),
        (#""category":99,"at":"r1""#, 404, "category:99 never existed"),
        (#""entities":["item:3"],"at":"r4""#, 404, "item:3 does not exist at revision 4: it was deleted"),
      ] {
        for dryRun in [true, false] {
          let answer = try served.post("/api/restore", "{\(scope),\"dryRun\":\(dryRun)}")
          #expect(answer.status == status, "\(scope): \(answer.text)")
          let message = try answer.json()["error"]?["message"]?.string ?? ""
          #expect(message.contains(reason), "\(scope): \(answer.text)")
        }
      }
      #expect(served.journal.head.revision == 4)
    }
  }

  /// `@name` also restored the kind and the category of the items.
  @Test func aRestoreOfAFieldChangesNoFieldOfOtherKinds() throws {
    try withBooks { (served) throws in
      try served.journal.commit(by: "eve") { draft in
        try draft.setName(ofCategory: 1, to: "Prose")
        try draft.setKind(ofItem: 2, to: "novel")
      }
      let answer = try served.post("/api/restore", #"{"category":1,"fields":["@name"],"at":"r1"}"#)
      #expect(answer.status == 201)
      #expect(try answer.json()["changes"]?.array?.count == 1, "\(answer.text)")
      let state = served.journal.state
      #expect(state.category(1)?.name == "Novels" && state.item(2)?.kind == "novel")
    }
  }

  /// One value was lost, and a restore of fields of a deleted item was answered with no changes.
  @Test func twoSpellingsOfAKeyAndFieldsOfADeletedItemAreRefused() throws {
    try withBooks { (served) throws in
      let spellings = try served.post(
        "/api/commits",
        #"""
        {"events":[{"operation":"update","entity":"item:1",
          "changes":{"attributes":{"m":{"caf\u00e9":1,"cafe\u0301":2}}}}]}
        """#)
      #expect(spellings.status == 400 && spellings.text.contains("two spellings"), "\(spellings.text)")
      let deletion = try served.post(
        "/api/commits", #"{"events":[{"operation":"delete","entity":"item:1"}]}"#)
      #expect(deletion.status == 201, "\(deletion.text)")
      let restore = try served.post(
        "/api/restore", #"{"entities":["item:1"],"at":"1","fields":["title"]}"#)
      #expect(restore.status == 404 && restore.text.contains("as a whole first"), "\(restore.text)")
    }
  }
}
