import CBOR
import Foundation
import JSON
import TestSupport
import Testing

@Suite struct ArrayTests {
  @Test func elementsAreFoundAsTheyAreWritten() throws {
    let text = "\u{FEFF} [ 1 ,{\"a\" : [2, 3]} , \"]\\\",[\",[ ],\tnull\n] "
    let array = try JSONArray(Array(text.utf8))
    #expect(
      array.map { String(decoding: $0, as: UTF8.self) }
        == ["1", "{\"a\" : [2, 3]}", "\"]\\\",[\"", "[ ]", "null"])
    #expect(array.value(at: 1) == .dictionary(["a": .array([.integer(2), .integer(3)])]))
    #expect(array[0].startIndex == 6)
  }

  @Test func anEmptyArrayHasNoElements() throws {
    #expect(try JSONArray(Array("[ ]".utf8)).isEmpty)
  }

  @Test(arguments: ["{\"a\":[1]}", "1", "\"[1]\"", "null"])
  func anotherValueIsNotAnArray(text: String) {
    let error = #expect(throws: JSONError.self) { try JSONArray(Array(text.utf8)) }
    #expect(error?.code == .notAnArray)
  }

  @Test func anErrorInTheLastElementRejectsTheWholeText() {
    let text = "[" + String(repeating: "{\"a\":1},", count: 1_000) + "{\"a\":01}]"
    let error = #expect(throws: JSONError.self) { try JSONArray(Array(text.utf8)) }
    #expect(error?.code == .invalidNumber)
    #expect(error?.offset == text.utf8.count - 4)
  }

  @Test func elementsReadOneByOneEqualTheArrayReadAtOnce() throws {
    var generator = SeededGenerator()
    for _ in 0..<200 {
      let values = (0..<Int.random(in: 0..<10, using: &generator)).map { _ in
        FieldValue.random(using: &generator)
      }
      let text = Array(FieldValue.array(values).json.utf8)
      let array = try JSONArray(text)
      let isSame = try FieldValue(json: text) == .array(array.indices.map { array.value(at: $0) })
      #expect(isSame, "\(String(decoding: text, as: UTF8.self))")
    }
  }

  @Test func flippedBytesGiveTheSameAnswerFromBothReaders() throws {
    let limits: [JSONError.Code] = [.numberOutOfRange, .tooDeep, .equivalentKeys]
    var generator = SeededGenerator()
    for _ in 0..<5_000 {
      var text = Array(FieldValue.array([.random(using: &generator)]).json.utf8)
      for _ in 0..<Int.random(in: 1...3, using: &generator) {
        text[Int.random(in: 0..<text.count, using: &generator)] = UInt8.random(in: 0...255, using: &generator)
      }
      let read = Result { () throws(JSONError) in try FieldValue(json: text) }
      let split = Result { () throws(JSONError) in try JSONArray(text) }
      switch (read, split) {
      case (.success(.array(let values)), .success(let array)):
        #expect(array.indices.map { array.value(at: $0) } == values)
      case (.success, .failure(let error)): #expect(error.code == .notAnArray)
      case (.failure(let first), .failure(let second)):
        // A limit can come before an error of the grammar, which alone prevents the split.
        #expect(first == second || limits.contains(first.code))
      case (.failure(let error), .success(let array)):
        // The array has what a value can't have, and so has one of its elements.
        let losses = array.indices.map { index in
          var loss: JSONError?
          _ = array.value(at: index, noting: &loss)
          return loss?.code
        }
        #expect(limits.contains(error.code))
        #expect(losses.contains(error.code), "\(text): \(losses) \(error)")
      case (.success, .success):
        Issue.record("the readers disagree about \(text): \(read) \(split)")
      }
    }
  }
}
