import CBOR
import Foundation
import JSON
import Journaling
import LogbookModel
import TestSupport
import Testing

/// Texts from people and programs are refused, or have one meaning, which can be written and read again.
@Suite struct TextFuzzTests {
  @Test func selectorsAreRefusedOrSelectAnExistingRevisionOrNone() throws {
    try withTemporaryFolder { folder in
      let journal = try Journal<Logbook>.create(at: folder.url.appendingPathComponent("Log.journal"))
      for page in 1...5 { try journal.commit { try $0.write(page, "text") } }
      let texts = [
        "120", "3", "0", "HEAD", "HEAD~3", "@", "2026-08-01", "2026-08-01T10:00:00Z",
        "2026-08-01T10:00:00.123456+02:00", "5 minutes ago", "an hour ago", "3 days ago", "a year ago",
        "99999999999999999999", "HEAD~99999999999999999999", "999999999 years ago", "-1", " 3 ",
      ]
      var mutator = Mutator()
      var accepted = 0
      for number in cases(5_000) {
        let text = texts[number % texts.count]
        let altered = number < texts.count ? text : mutator.mutate(text)
        do throws(JournalError) {
          let selector = try RevisionSelector(altered)
          accepted += 1
          let revision = try? journal.revision(at: selector)
          #expect(revision.map { (0...5).contains($0) } ?? true, "\"\(altered)\"")
        } catch {
          #expect(!error.message.isEmpty)
        }
      }
      #expect(accepted > 100)
    }
  }

  @Test func namesOfEntitiesAreRefusedOrComeBackTheSame() {
    var mutator = Mutator()
    var accepted = 0
    for _ in cases(20_000) {
      let altered = mutator.mutate("page:\(Int.random(in: 1...Int.max, using: &mutator.random))")
      do throws(JournalError) {
        let entity = try Logbook.entity(named: altered)
        accepted += 1
        #expect(entity.number > 0)
        #expect(try Logbook.entity(named: Logbook.name(of: entity)) == entity)
      } catch {
        #expect(error.code == .notFound)
      }
    }
    #expect(accepted > 100)
  }

  @Test func digestsAreRefusedOrComeBackTheSame() throws {
    var mutator = Mutator()
    var accepted = 0
    for _ in cases(20_000) {
      let digest = try #require(ContentDigest(bytes: mutator.random.bytes(32)))
      #expect(ContentDigest(hex: digest.hex) == digest)
      let altered = mutator.mutate(digest.hex)
      guard let read = ContentDigest(hex: altered) else { continue }
      accepted += 1
      #expect(read.hex == altered.lowercased())
    }
    #expect(accepted > 100)
  }

  @Test func timestampsAreRefusedOrComeBackTheSame() {
    let texts = [
      "2026-08-01", "2026-08-01T10:00", "2026-08-01T10:00:00Z", "2024-02-29T23:59:59.999999Z",
      "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-12:00", "2026-08-01 10:00:00.5",
    ]
    var mutator = Mutator()
    var accepted = 0
    for number in cases(20_000) {
      let text = texts[number % texts.count]
      guard let timestamp = Timestamp(number < texts.count ? text : mutator.mutate(text)) else { continue }
      accepted += 1
      guard Timestamp.fourDigitYears.contains(timestamp) else { continue }
      #expect(Timestamp("\(timestamp)") == timestamp)
    }
    #expect(accepted > 100)
  }

  @Test func jsonIsRefusedOrComesBackTheSame() {
    var mutator = Mutator()
    var accepted = 0
    for _ in cases(5_000) {
      let text = FieldValue.random(using: &mutator.random).json
      let altered = mutator.mutate(Array(text.utf8))
      for decodingWrappers in [false, true] {
        do throws(JSONError) {
          let value = try FieldValue(json: altered, decodingWrappers: decodingWrappers)
          accepted += 1
          let written = value.json
          let again = try? FieldValue(json: written, decodingWrappers: true)
          #expect(again?.json == written)
        } catch {
          #expect((0...altered.count).contains(error.offset))
          #expect(!error.message.isEmpty)
        }
      }
    }
    #expect(accepted > 100)
  }
}
