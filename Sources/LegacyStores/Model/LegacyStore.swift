import CatalogModel
public import Foundation

/// The files of an NSCoding-era app, read and interpreted as far as possible, but not yet imported.
///
/// ```swift
/// let store = try LegacyStore.scaryBugs(in: privateDocuments)
/// for problem in store.problems { print(problem) }
/// try journal.importStore(store)
/// ```
///
/// Only the given files are read. Unreadable parts are listed in ``problems``, and everything else is read.
public struct LegacyStore: Sendable {
  /// The way an app stored its data.
  public enum Source: String, Sendable, CaseIterable {
    /// Files that a keyed archiver wrote.
    case archive
    /// A preferences property list that contains archives as data.
    case defaults
    /// Property lists of dictionaries.
    case plist
    /// A folder of Scary Bugs' documents.
    case scarybugs
  }

  /// How the app stored its data.
  public let source: Source
  /// Distinguishes this store from others of the same source in one journal. Empty if it is the only one.
  public var name = ""
  /// What could not be read or was skipped, and why.
  public var problems: [LegacyProblem] = []

  var categories: [LegacyCategory] = []
  /// List by list, in the order of the files.
  var items: [LegacyItem] = []
  /// The lists that were read completely. Elements that are missing from them were removed.
  var lists: Set<String> = []
  /// Keys of unreadable elements, which are not treated as removed.
  var unreadableKeys: Set<String> = []
  /// Lists with an unreadable element. None of their elements is treated as removed.
  var incompleteLists: Set<String> = []
  /// The paths of files with parts that could not be read. An export does not have these parts.
  var incompleteFiles: Set<String> = []
  /// Pictures and large data without an item.
  var images: [LegacyImage] = []
  /// The files, with everything that is not an item or a category; see ``Layout``.
  var files: [String: FieldValue] = [:]
  var classes: [String: LegacyClass] = [:]

  init(_ source: Source) { self.source = source }
}

/// A part of a store that could not be read or was skipped.
public struct LegacyProblem: Sendable, CustomStringConvertible {
  /// The part: a file, a folder or a key.
  public let place: String
  /// The reason and, where possible, what to do about it.
  public let reason: String
  /// Whether data is lost. False for remarks, and if the app itself would have skipped the part.
  public let isLoss: Bool
  /// All parts, if items are rejected for the same reason; otherwise empty.
  public let parts: [String]

  init(_ place: String, _ reason: String, isLoss: Bool = true, parts: [String] = []) {
    (self.place, self.reason, self.isLoss, self.parts) = (place, reason, isLoss, parts)
  }

  /// Items that are rejected for the same reason.
  init(_ items: [String], rejectedBecause reason: String) {
    guard items.count > 1 else {
      self.init(items[0], reason)
      return
    }
    let first = items.prefix(3).joined(separator: ", ") + (items.count > 3 ? ", …" : "")
    self.init("\(items.count) items", "\(reason): \(first)", parts: items)
  }

  /// The place and the reason.
  public var description: String { "\(place): \(reason)" }
}

/// The reason why a store can't be read or written at all.
public struct LegacyError: Error, Sendable, CustomStringConvertible {
  /// The kind of an error. Later versions may add kinds, so a `switch` needs a `default`.
  public struct Code: RawRepresentable, Hashable, Sendable {
    /// The name of the code, such as `notFound`.
    public let rawValue: String
    /// The code of that name.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// There is no such file or folder, or it contains nothing to import.
    public static let notFound = Code(rawValue: "notFound")
    /// The file exists but can't be read.
    public static let unreadable = Code(rawValue: "unreadable")
    /// An invalid call, such as a mapping to an attribute that does not exist.
    public static let wrongUse = Code(rawValue: "wrongUse")
    /// The name of a file that is to be written is already taken.
    public static let alreadyExists = Code(rawValue: "alreadyExists")
    /// The operating system reported a failure.
    public static let io = Code(rawValue: "io")
  }

  /// The kind of error.
  public let code: Code
  /// What failed, as a sentence without a full stop.
  public let message: String
  /// The file or folder concerned.
  public let path: String?
  /// The underlying error.
  public let cause: (any Error)?

  init(_ code: Code, _ message: String, path: String? = nil, cause: (any Error)? = nil) {
    self.code = code
    self.message = message
    self.path = path
    self.cause = cause
  }

  /// The message, the path in parentheses, and the underlying error.
  public var description: String {
    var text = message
    if let path { text += " (\(path))" }
    if let cause { text += ": \(cause)" }
    return text
  }
}

extension LegacyError: LocalizedError {
  /// The ``description``, for an alert.
  public var errorDescription: String? { description }
}

extension LegacyStore {
  /// The name of the item or category that a reference of the store leads to.
  func name(ofTarget key: String, _ target: Int) -> String {
    key == Reference.category ? categories[target].name : items[target].label ?? items[target].kind
  }
}
