import Foundation
import Testing

/// An archive's top value, as Foundation's own reader reads it.
///
/// - Parameter classes: the class for each name in the archive.
func unarchived(
  _ bytes: [UInt8], forKey key: String = "root", classes: [String: AnyClass] = [:]
) throws -> NSObject? {
  let reader = try NSKeyedUnarchiver(forReadingFrom: Data(bytes))
  reader.requiresSecureCoding = false
  // Otherwise a value that can't be decoded would end the process.
  reader.decodingFailurePolicy = .setErrorAndReturn
  for name in classes.keys { reader.setClass(classes[name], forClassName: name) }
  let object = reader.decodeObject(forKey: key)
  if let error = reader.error { throw error }
  return object as? NSObject ?? (object as? String).map { NSString(string: $0) }
}

/// The bug of an old tutorial: an object with a text and a float.
final class BugObject: NSObject, NSCoding {
  let title: String?
  let rating: Float

  init?(coder: NSCoder) {
    title = coder.decodeObject(forKey: "Title") as? String
    rating = coder.decodeFloat(forKey: "Rating")
  }

  func encode(with coder: NSCoder) {}
}

/// An object with one field of each kind.
final class RecordObject: NSObject, NSCoding {
  let flag: Bool
  let integer: Int64
  let real: Double
  let date: NSDate?
  let data: NSData?
  let url: NSURL?
  let uuid: NSUUID?
  let tags: [String]?
  let bug: BugObject?
  let hasNote: Bool
  let special: String?

  init?(coder: NSCoder) {
    flag = coder.decodeBool(forKey: "flag")
    integer = coder.decodeInt64(forKey: "integer")
    real = coder.decodeDouble(forKey: "real")
    date = coder.decodeObject(forKey: "date") as? NSDate
    data = coder.decodeObject(forKey: "data") as? NSData
    url = coder.decodeObject(forKey: "url") as? NSURL
    uuid = coder.decodeObject(forKey: "uuid") as? NSUUID
    tags = (coder.decodeObject(forKey: "tags") as? NSArray)?.compactMap { $0 as? String }
    bug = coder.decodeObject(forKey: "bug") as? BugObject
    hasNote = coder.decodeObject(forKey: "note") != nil
    special = coder.decodeObject(forKey: "$special") as? String
  }

  func encode(with coder: NSCoder) {}
}
