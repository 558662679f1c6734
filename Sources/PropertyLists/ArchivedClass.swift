/// The class of an archived object: its name, its superclasses, and the classes that may replace it for readers that
/// don't know it.
public struct ArchivedClass: Hashable, Sendable {
  /// The name under which a reader looks the class up, such as `ScaryBugData`.
  public let name: String
  /// The names of the class and its superclasses, from the class itself to `NSObject`. Empty if the archive has only
  /// the name of the class, as archivers write a renamed class; the class is then written in the same way.
  public let chain: [String]
  /// Classes that a reader may use instead, such as `NSColor` for a `UIColor`.
  public let hints: [String]

  /// - Parameters:
  ///   - name: the class's own name.
  ///   - superclasses: its superclasses, the nearest first.
  ///   - hints: classes that a reader may use instead, the best first.
  public init(_ name: String, superclasses: [String] = ["NSObject"], hints: [String] = []) {
    self.name = name
    chain = [name] + superclasses
    self.hints = hints
  }

  /// A class as an archive describes it. The chain may be empty, and need not begin with the name.
  package init(name: String, chain: [String], hints: [String]) {
    self.name = name
    self.chain = chain
    self.hints = hints
  }

  /// Whether the class has the given name, descends from a class of that name, or may be replaced by one.
  ///
  /// A mutable class of Foundation descends from the immutable one, even if the archive does not list its ancestors.
  public func isKind(of name: String) -> Bool {
    if self.name == name || chain.contains(name) || hints.contains(name) { return true }
    guard name.hasPrefix("NS") else { return false }
    func isMutableForm(_ other: String) -> Bool {
      other.hasPrefix("NSMutable") && other.utf8.dropFirst(9).elementsEqual(name.utf8.dropFirst(2))
    }
    return isMutableForm(self.name) || chain.contains(where: isMutableForm)
  }

  /// Compares names byte by byte: names that merely look alike are names of different classes.
  public static func == (left: ArchivedClass, right: ArchivedClass) -> Bool {
    // In archives of other programs the chain may be empty or begin with another name, so the name is compared too.
    ExactString(left.name) == ExactString(right.name) && ExactString.areEqual(left.chain, right.chain)
      && ExactString.areEqual(left.hints, right.hints)
  }

  /// Hashes the bytes of all names: an archive may describe many classes with one name.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(ExactString(name))
    for names in [chain, hints] {
      hasher.combine(names.count)
      for name in names { hasher.combine(ExactString(name)) }
    }
  }
}

extension ArchivedClass {
  /// `NSArray`.
  public static let array = ArchivedClass("NSArray")
  /// `NSMutableArray`.
  public static let mutableArray = ArchivedClass("NSMutableArray", superclasses: ["NSArray", "NSObject"])
  /// `NSDictionary`.
  public static let dictionary = ArchivedClass("NSDictionary")
  /// `NSMutableDictionary`.
  public static let mutableDictionary = ArchivedClass(
    "NSMutableDictionary", superclasses: ["NSDictionary", "NSObject"])
  /// `NSSet`.
  public static let set = ArchivedClass("NSSet")
  /// `NSMutableSet`.
  public static let mutableSet = ArchivedClass("NSMutableSet", superclasses: ["NSSet", "NSObject"])
  /// `NSOrderedSet`.
  public static let orderedSet = ArchivedClass("NSOrderedSet")
  /// `NSMutableOrderedSet`.
  public static let mutableOrderedSet = ArchivedClass(
    "NSMutableOrderedSet", superclasses: ["NSOrderedSet", "NSObject"])
  /// `NSMutableString`.
  public static let mutableString = ArchivedClass("NSMutableString", superclasses: ["NSString", "NSObject"])
  /// `NSMutableData`.
  public static let mutableData = ArchivedClass("NSMutableData", superclasses: ["NSData", "NSObject"])
  /// `NSDate`.
  public static let date = ArchivedClass("NSDate")
  /// `NSURL`.
  public static let url = ArchivedClass("NSURL")
  /// `NSUUID`.
  public static let uuid = ArchivedClass("NSUUID")
  /// `NSNull`.
  public static let null = ArchivedClass("NSNull")
  /// `NSDecimalNumber`.
  public static let decimalNumber = ArchivedClass(
    "NSDecimalNumber", superclasses: ["NSNumber", "NSValue", "NSObject"])
  /// `NSIndexSet`.
  public static let indexSet = ArchivedClass("NSIndexSet")
  /// `NSIndexPath`.
  public static let indexPath = ArchivedClass("NSIndexPath")
  /// `UIColor`, which a Mac reads as `NSColor`.
  public static let uiColor = ArchivedClass("UIColor", hints: ["NSColor"])
  /// `NSColor`.
  public static let nsColor = ArchivedClass("NSColor")
}

/// A string that equals another only if their bytes are equal. Swift's own equality ignores whether `é` is one scalar
/// or an `e` and a combining accent.
package struct ExactString: Hashable, Comparable {
  let text: String

  package init(_ text: String) { self.text = text }

  package static func == (left: ExactString, right: ExactString) -> Bool {
    left.text.utf8.elementsEqual(right.text.utf8)
  }

  package static func < (left: ExactString, right: ExactString) -> Bool {
    left.text.utf8.lexicographicallyPrecedes(right.text.utf8)
  }

  static func areEqual(_ left: [String], _ right: [String]) -> Bool {
    left.elementsEqual(right) { $0.utf8.elementsEqual($1.utf8) }
  }

  package func hash(into hasher: inout Hasher) {
    var text = text
    text.withUTF8 { utf8 in unsafe hasher.combine(bytes: UnsafeRawBufferPointer(utf8)) }
    hasher.combine(UInt8(0xFF))
  }
}
