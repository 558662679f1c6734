/// The class that an archived object says it is of: its name, what it inherits from, and what may stand in for
/// it where it is unknown.
public struct ArchivedClass: Hashable, Sendable {
  /// The name under which a reader looks the class up, such as `ScaryBugData`.
  public let name: String
  /// The names of the class and of all it inherits from, the class first and `NSObject` last. Empty for a class of
  /// which an archive says its name alone, as archivers write renamed ones; so it is written again.
  public let chain: [String]
  /// Classes that a reader may take instead, such as `NSColor` for a `UIColor`.
  public let hints: [String]

  /// - Parameters:
  ///   - name: the class's own name.
  ///   - superclasses: what it inherits from, the nearest first.
  ///   - hints: classes that a reader may take instead, the best first.
  public init(_ name: String, superclasses: [String] = ["NSObject"], hints: [String] = []) {
    self.name = name
    chain = [name] + superclasses
    self.hints = hints
  }

  /// Byte by byte: names that merely look alike are names of different classes.
  public static func == (left: ArchivedClass, right: ArchivedClass) -> Bool {
    // The name too: in archives of other programs the chain may be empty or begin with another name.
    ExactString(left.name) == ExactString(right.name) && ExactString.areEqual(left.chain, right.chain)
      && ExactString.areEqual(left.hints, right.hints)
  }

  /// Hashes the bytes of all names: an archive may describe many classes of one name.
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
  /// `NSValue`.
  public static let value = ArchivedClass("NSValue")
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
  /// `CLLocation`.
  public static let location = ArchivedClass("CLLocation")
}

/// A string that equals another only if the bytes do. Swift's own equality takes `é` and `e´` for the same.
struct ExactString: Hashable, Comparable {
  let text: String

  init(_ text: String) { self.text = text }

  static func == (left: ExactString, right: ExactString) -> Bool {
    left.text.utf8.elementsEqual(right.text.utf8)
  }

  static func < (left: ExactString, right: ExactString) -> Bool {
    left.text.utf8.lexicographicallyPrecedes(right.text.utf8)
  }

  static func areEqual(_ left: [String], _ right: [String]) -> Bool {
    left.elementsEqual(right) { $0.utf8.elementsEqual($1.utf8) }
  }

  func hash(into hasher: inout Hasher) {
    var text = text
    text.withUTF8 { utf8 in unsafe hasher.combine(bytes: UnsafeRawBufferPointer(utf8)) }
    hasher.combine(UInt8(0xFF))
  }
}
