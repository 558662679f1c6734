import Foundation
import KeyedArchiving
import TestSupport
import Testing

@testable import Examples

/// A person, as a class with `NSCoding` that has been in an app for years. It is not private, because Foundation on
/// Linux does not archive private classes.
final class OldContact: NSObject, NSCoding {
  let firstName: String
  let lastName: String

  init(firstName: String, lastName: String) {
    self.firstName = firstName
    self.lastName = lastName
  }

  init?(coder: NSCoder) {
    guard let firstName = coder.decodeObject(forKey: "firstName") as? String,
      let lastName = coder.decodeObject(forKey: "lastName") as? String
    else { return nil }
    self.firstName = firstName
    self.lastName = lastName
  }

  func encode(with coder: NSCoder) {
    coder.encode(firstName, forKey: "firstName")
    coder.encode(lastName, forKey: "lastName")
  }
}

/// A struct with more properties, whose archived class and keys have other names.
private struct Sighting: Equatable, ArchivedAsObject {
  static let className = "BUGSighting"
  static let archiveKeys = ["species": "Species", "rating": "Rating", "seen": "Seen"]

  var species: String
  var rating: Float
  var seen: Date?
  var photo = Data([1, 2, 3])
  var tags = ["grün", "日本"]
  var by: Contact?
}

final class OldSighting: NSObject, NSCoding {
  let species: String?
  let rating: Float
  let seen: Date?

  init?(coder: NSCoder) {
    species = coder.decodeObject(forKey: "Species") as? String
    rating = coder.decodeFloat(forKey: "Rating")
    seen = coder.decodeObject(forKey: "Seen") as? Date
  }

  func encode(with coder: NSCoder) {}
}

@Suite struct StructArchiveTests {
  private let ana = Contact(firstName: "Ana", lastName: "Lima Ó Briain")

  /// Reads a file as an app with the old class does.
  private func unarchive<Old: NSObject & NSCoding>(_ type: Old.Type, named name: String, _ url: URL) throws
    -> Old?
  {
    let unarchiver = try NSKeyedUnarchiver(forReadingFrom: Data(contentsOf: url))
    unarchiver.requiresSecureCoding = false
    unarchiver.setClass(type, forClassName: name)
    return unarchiver.decodeObject(forKey: NSKeyedArchiveRootObjectKey) as? Old
  }

  @Test func aStructComesBackAsItWas() throws {
    try withTemporaryFolder { folder in
      let url = folder.url.appending(path: "Contact")
      try ana.archive(to: url)
      #expect(try Contact.unarchive(from: url) == ana)

      let sightings = [
        Sighting(
          species: "Wolf Spider", rating: 0.1, seen: Date(timeIntervalSinceReferenceDate: 1.25), by: ana),
        Sighting(species: "", rating: -3, tags: []),
      ]
      for sighting in sightings {
        try sighting.archive(to: url)
        #expect(try Sighting.unarchive(from: url) == sighting)
      }
    }
  }

  @Test func aClassWithNSCodingReadsTheArchiveOfAStruct() throws {
    try withTemporaryFolder { folder in
      let url = folder.url.appending(path: "Contact")
      try ana.archive(to: url)
      let read = try unarchive(OldContact.self, named: "Contact", url)
      let old = try #require(read)
      #expect(Contact(firstName: old.firstName, lastName: old.lastName) == ana)

      let seen = Date(timeIntervalSinceReferenceDate: 1.25)
      try Sighting(species: "Wolf Spider", rating: 0.1, seen: seen, by: ana).archive(to: url)
      let sighting = try unarchive(OldSighting.self, named: "BUGSighting", url)
      #expect(sighting?.species == "Wolf Spider")
      #expect(sighting?.rating == 0.1)
      #expect(sighting?.seen == seen)
    }
  }

  @Test func aStructReadsAnArchiveOfAClassWithNSCoding() throws {
    try withTemporaryFolder { folder in
      let url = folder.url.appending(path: "Contact")
      let archiver = NSKeyedArchiver(requiringSecureCoding: false)
      archiver.setClassName("Contact", for: OldContact.self)
      archiver.encode(
        OldContact(firstName: ana.firstName, lastName: ana.lastName), forKey: NSKeyedArchiveRootObjectKey)
      archiver.finishEncoding()
      try archiver.encodedData.write(to: url)
      #expect(try Contact.unarchive(from: url) == ana)
    }
  }

  @Test func aNewArchiveReplacesThePreviousOne() throws {
    try withTemporaryFolder { folder in
      let url = folder.url.appending(path: "Contact")
      try Contact(firstName: String(repeating: "long", count: 1_000), lastName: "").archive(to: url)
      try ana.archive(to: url)
      #expect(try Contact.unarchive(from: url) == ana)
      let first = try Data(contentsOf: url)
      try ana.archive(to: url)
      #expect(try Data(contentsOf: url) == first)
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["Contact"])
    }
  }

  @Test func aMissingFileGivesNoContact() throws {
    try withTemporaryFolder { folder in
      let nobody = try Contact.unarchive(from: folder.url.appending(path: "Contact"))
      #expect(nobody == nil)
      // A file that can't be read is not a missing one.
      #expect(throws: CocoaError.self) { try Contact.unarchive(from: folder.url) }
    }
  }

  @Test func anEmptyOrTornFileIsAnError() throws {
    try withTemporaryFolder { folder in
      let url = folder.url.appending(path: "Contact")
      try ana.archive(to: url)
      let whole = try Data(contentsOf: url)
      for count in [0, 1, 8, whole.count / 2, whole.count - 1] {
        try whole.prefix(count).write(to: url)
        #expect(throws: ArchiveError.self, "\(count) bytes") { try Contact.unarchive(from: url) }
      }
    }
  }

  @Test func anArchiveOfAnotherTypeIsAnErrorThatNamesTheMissingKey() throws {
    try withTemporaryFolder { folder in
      let url = folder.url.appending(path: "Contact")
      try Sighting(species: "Wolf Spider", rating: 4).archive(to: url)
      let error = #expect(throws: DecodingError.self) { try Contact.unarchive(from: url) }
      guard case .keyNotFound(let key, _)? = error else {
        Issue.record("another error: \(String(describing: error))")
        return
      }
      #expect(key.stringValue == "firstName")
    }
  }
}
