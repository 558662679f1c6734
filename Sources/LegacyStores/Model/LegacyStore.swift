import CatalogModel
public import Foundation

/// What an app of NSCoding's days left on disk: read, understood as far as possible, and not yet brought anywhere.
///
/// ```swift
/// let store = try LegacyStore.scaryBugs(in: privateDocuments)
/// for problem in store.problems { print(problem) }
/// try journal.importStore(store)
/// ```
///
/// Reading touches nothing but the files that are named. A part that can't be read is one of the ``problems``, and
/// the rest is there all the same.
public struct LegacyStore: Sendable {
  /// The way in which an app kept its things.
  public enum Source: String, Sendable, CaseIterable {
    /// Files that a keyed archiver wrote.
    case archive
    /// A preferences property list with archives as data in it.
    case defaults
    /// Property lists of dictionaries.
    case plist
    /// A folder of Scary Bugs' documents.
    case scarybugs
  }

  /// How the app kept its things.
  public let source: Source
  /// What tells this store from others of the same source in one journal; empty for the only one.
  public var name = ""
  /// What could not be read or was passed over, and why.
  public var problems: [LegacyProblem] = []

  /// What items can be grouped under.
  var categories: [LegacyCategory] = []
  /// The things themselves, list by list in the order of the files.
  var items: [LegacyItem] = []
  /// The lists that were read as a whole: what they lack is gone.
  var lists: Set<String> = []
  /// Keys of elements that are there and can't be read, so that nobody takes them for gone.
  var unreadableKeys: Set<String> = []
  /// Lists of which an element can't be read: none of theirs is taken for gone.
  var incompleteLists: Set<String> = []
  /// Pictures and large data that belong to no item.
  var images: [LegacyImage] = []
  /// The files, with everything in them that is no item and no category; see ``Layout``.
  var files: [String: FieldValue] = [:]
  /// The classes of the objects, by name.
  var classes: [String: LegacyClass] = [:]

  init(_ source: Source) { self.source = source }
}

/// Something of a store that could not be read, or that was passed over.
public struct LegacyProblem: Sendable, CustomStringConvertible {
  /// Which part: a file, a folder, a key.
  public let place: String
  /// What is wrong with it, in words that a person can act on.
  public let reason: String
  /// False for what the app itself would have passed over, and for what is only worth knowing.
  public let isLoss: Bool

  init(_ place: String, _ reason: String, isLoss: Bool = true) {
    self.place = place
    self.reason = reason
    self.isLoss = isLoss
  }

  /// The place and the reason.
  public var description: String { "\(place): \(reason)" }
}

/// Why a store can't be read or written at all.
public struct LegacyError: Error, Sendable, CustomStringConvertible {
  /// The kind of an error. New ones may come; switch with a `default`.
  public struct Code: RawRepresentable, Hashable, Sendable {
    /// The name of the code, such as `notFound`.
    public let rawValue: String
    /// The code of that name.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// There is no such file or folder, or nothing in it that is looked for.
    public static let notFound = Code(rawValue: "notFound")
    /// The file is there and can't be read.
    public static let unreadable = Code(rawValue: "unreadable")
    /// A call that makes no sense, such as a mapping to an attribute that does not exist.
    public static let wrongUse = Code(rawValue: "wrongUse")
    /// Something else has the name of a file that is to be written.
    public static let alreadyExists = Code(rawValue: "alreadyExists")
    /// The operating system reports a failure.
    public static let io = Code(rawValue: "io")
  }

  /// What kind of error it is.
  public let code: Code
  /// A sentence for a person.
  public let message: String
  /// The file or folder it is about.
  public let path: String?
  /// What the error follows from.
  public let cause: (any Error)?

  init(_ code: Code, _ message: String, path: String? = nil, cause: (any Error)? = nil) {
    self.code = code
    self.message = message
    self.path = path
    self.cause = cause
  }

  /// The message, the path in parentheses, and the cause.
  public var description: String {
    var text = message
    if let path { text += " (\(path))" }
    if let cause { text += ": \(cause)" }
    return text
  }
}

extension LegacyError: LocalizedError {
  /// What ``description`` says: for an alert.
  public var errorDescription: String? { description }
}
