import CatalogModel
import JSON
import TestSupport
import Testing

@testable import journal

@Suite struct RecordFileTests {
  private func read(_ text: String, after old: RecordFile = RecordFile()) throws -> (RecordFile, [String]) {
    var changed: [RecordFile.Record] = []
    let file = try RecordFile(Array(text.utf8), after: old, keyedBy: "k", changed: &changed)
    return (file, changed.map(\.key.text))
  }

  @Test func onlyTheTextBetweenAnEqualBeginningAndEndIsParsed() throws {
    let (first, _) = try read(#"[{"k":1},{"k":2},{"k":3},{"k":4}]"#)
    let (second, changed) = try read(#"[{"k":1}, {"k":2,"x":0},{"k":9},{"k":4}]"#, after: first)
    #expect(changed == ["2", "9"])
    #expect(second.keys.map(\.text) == ["1", "2", "9", "4"])
  }

  @Test func aDuplicateCountsAfterTheNextOneIsRemoved() throws {
    let (first, _) = try read(#"[{"k":"a","n":1},{"k":"b"},{"k":"a","n":2}]"#)
    #expect(first.skipped == "skipped 1 object whose \"k\" a later one has (a)")
    let (second, changed) = try read(#"[{"k":"a","n":1},{"k":"b"}]"#, after: first)
    #expect(changed == ["a"])
    #expect(second.skipped == nil)
    #expect(second.keys.map(\.text) == ["a", "b"])
  }

  @Test func aChangedRecordThatIsNotKeptExactlyIsNoted() throws {
    let text = #"[{"k":1,"n":0.1},{"k":2,"n":9007199254740993.5},{"k":3,"t":"\ud800"},{"n":1}]"#
    let (first, changed) = try read(text)
    #expect(changed == ["1", "2", "3"])
    #expect(first.skipped == "skipped 1 object without a usable \"k\"")
    #expect(
      first.inexact
        == "2 objects can't be kept exactly (a number with more digits than can be kept; a string keeps them)"
    )
    // The next version skips the same, and changes nothing else.
    let (second, unchanged) = try read(text, after: first)
    #expect(unchanged == [] && second.skipped == first.skipped && second.inexact == nil)
  }

  /// Reads a series of texts, each as a change of the one before, and compares the records with those of the last text
  /// alone.
  @Test func readingSuccessiveTextsEqualsReadingTheLastOne() throws {
    var generator = SeededGenerator()
    for _ in 0..<300 {
      var file = RecordFile()
      var values: [String: FieldValue] = [:]
      for _ in 0..<6 {
        let elements = (0..<Int.random(in: 0...6, using: &generator)).map { _ in
          [
            #"{"k":1,"v":0}"#, #"{"k":1,"v":1}"#, #"{"k":2}"#, #"{"k":"3","v":[]}"#, "7", #"{"v":1}"#,
            #"{"k":null}"#,
          ]
          .randomElement(using: &generator)!
        }
        let text = Array("[\(elements.joined(separator: ","))]".utf8)
        var changed: [RecordFile.Record] = []
        file = try RecordFile(text, after: file, keyedBy: "k", changed: &changed)
        for record in changed { values[record.key.text] = .dictionary(record.attributes) }
        let keys = Set(file.keys.map(\.text))
        values = values.filter { keys.contains($0.key) }

        var anew: [RecordFile.Record] = []
        let plain = try RecordFile(text, after: RecordFile(), keyedBy: "k", changed: &anew)
        let expected = anew.map { ($0.key.text, FieldValue.dictionary($0.attributes)) }
        #expect(values == Dictionary(uniqueKeysWithValues: expected), "\(elements)")
        #expect(file.keys == plain.keys)
        #expect(file.skipped == plain.skipped)
      }
    }
  }
}
