import CBOR
import CatalogModel
import Foundation
import JSON
import Journaling
import Testing

/// The JSON that scripts read: whole lines, character by character.
struct JSONShapeTests {
  private func sample() throws -> CatalogHistory {
    var history = CatalogHistory()
    try history.commit { draft in
      try draft.addCategory(name: "Europe")
      try draft.addCategory(name: "\"Asia\"", color: Catalog.Color(hex: "#FF800080"))
      try draft.addItem(
        kind: "countries", category: 1,
        attributes: [
          "name": .string("Köln\n"), "area": .double(1), "population": .integer(83_000_000),
          "borders": .array([.string("FRA"), .null]), "independent": .bool(true),
          "since": .date(Date(timeIntervalSince1970: 0.5)), "flag": .data(Data([0, 255])),
          "$date": .dictionary(["$data": .integer(1)]),
        ])
    }
    try history.commit { draft in
      try draft.addItem(kind: "empty")
      try draft.addImage(to: 1, name: "deu.svg", mediaType: "image/svg+xml", blob: someBlob)
      try draft.addImage(to: 1, name: "deu.png", mediaType: "image/png", blob: someBlob)
    }
    return history
  }

  @Test func aStateIsThreeLists() throws {
    let digest = someBlob.digest.hex
    #expect(
      try sample().state.json == """
        {"categories":[\
        {"id":1,"name":"Europe","color":null,"created":1,"modified":1},\
        {"id":2,"name":"\\"Asia\\"","color":"#FF800080","created":1,"modified":1}],\
        "items":[\
        {"id":1,"kind":"countries","category":1,"attributes":{"$date":{"$$data":1},"area":1.0,\
        "borders":["FRA",null],"flag":{"$data":"AP8="},"independent":true,"name":"Köln\\n",\
        "population":83000000,"since":{"$date":"1970-01-01T00:00:00.500000Z"}},\
        "images":[1,2],"created":1,"modified":1},\
        {"id":2,"kind":"empty","category":null,"attributes":{},"images":[],"created":2,"modified":2}],\
        "images":[\
        {"id":1,"item":1,"name":"deu.svg","mediaType":"image/svg+xml","byteCount":123,\
        "sha256":"\(digest)","created":2,"modified":2},\
        {"id":2,"item":1,"name":"deu.png","mediaType":"image/png","byteCount":123,\
        "sha256":"\(digest)","created":2,"modified":2}]}
        """)
  }

  @Test func anEmptyStateIsThreeEmptyLists() {
    #expect(Catalog().json == #"{"categories":[],"items":[],"images":[]}"#)
  }

  @Test func aLargeStateIsWrittenInPieces() throws {
    var history = try sample()
    let long = String(repeating: "x", count: 60_000)
    for _ in 0..<4 {
      try history.commit { _ = try $0.addItem(kind: "long", attributes: ["text": .string(long)]) }
    }
    var text = StateText(history.state)
    var pieces: [String] = []
    while let piece = try text.next() { pieces.append(String(decoding: piece, as: UTF8.self)) }
    #expect(pieces.count == 3)
    #expect(try FieldValue(json: pieces.joined())["items"]?.array?.count == 6)
  }

  @Test func eventsSayWhatChanged() throws {
    var history = try sample()
    #expect(
      history.newestEvents == [
        #"{"operation":"add","entity":"item:2","previous":0,"changes":{"kind":"empty"}}"#,
        #"{"operation":"add","entity":"image:1","previous":0,"changes":{"item":1,"name":"deu.svg","#
          + #""mediaType":"image/svg+xml","byteCount":123,"sha256":"\#(someBlob.digest.hex)"}}"#,
        #"{"operation":"add","entity":"image:2","previous":0,"changes":{"item":1,"name":"deu.png","#
          + #""mediaType":"image/png","byteCount":123,"sha256":"\#(someBlob.digest.hex)"}}"#,
      ])
    try history.commit { draft in
      try draft.updateItem(1, set: ["a": .integer(1)], remove: ["area", "name"])
      try draft.setKind(ofItem: 1, to: "states")
      try draft.setCategory(ofItem: 1, to: nil)
      try draft.setCategory(ofItem: 2, to: 2)
      try draft.updateCategory(1, name: "Africa", color: Catalog.Color(red: 0, green: 0, blue: 0))
      try draft.updateImage(1, blob: Blob(digest: .zero, byteCount: 123))
      try draft.deleteImage(2)
    }
    #expect(
      history.newestEvents == [
        #"{"operation":"update","entity":"item:1","previous":1,"changes":{"kind":"states","#
          + #""category":null,"attributes":{"a":1},"removed":["area","name"]}}"#,
        #"{"operation":"update","entity":"item:2","previous":2,"changes":{"category":2}}"#,
        #"{"operation":"update","entity":"category:1","previous":1,"changes":{"name":"Africa","#
          + ##""color":"#000000FF"}}"##,
        #"{"operation":"update","entity":"image:1","previous":2,"changes":{"sha256":""#
          + String(repeating: "0", count: 64) + #""}}"#,
        #"{"operation":"delete","entity":"image:2","previous":2,"changes":{}}"#,
      ])
  }
}
