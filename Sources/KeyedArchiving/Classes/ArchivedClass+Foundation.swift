public import PropertyLists

extension ArchivedClass {
  /// Whether the class has the given name, descends from a class of that name, or may be replaced by one.
  ///
  /// A mutable class of Foundation descends from the immutable class, even if the archive lists no superclasses.
  public func isKind(of name: String) -> Bool {
    if self.name == name || chain.contains(name) || hints.contains(name) { return true }
    guard name.hasPrefix("NS") else { return false }
    func isMutableForm(_ other: String) -> Bool {
      other.hasPrefix("NSMutable") && other.utf8.dropFirst(9).elementsEqual(name.utf8.dropFirst(2))
    }
    return isMutableForm(self.name) || chain.contains(where: isMutableForm)
  }
}

/// The classes that apps archive most. The module PropertyLists has the classes of a journal's own archives.
extension ArchivedClass {
  /// `NSMutableArray`.
  public static let mutableArray = ArchivedClass("NSMutableArray", superclasses: ["NSArray", "NSObject"])
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
  /// `NSMutableData`.
  public static let mutableData = ArchivedClass("NSMutableData", superclasses: ["NSData", "NSObject"])
  /// `NSURL`.
  public static let url = ArchivedClass("NSURL")
  /// `NSUUID`.
  public static let uuid = ArchivedClass("NSUUID")
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
