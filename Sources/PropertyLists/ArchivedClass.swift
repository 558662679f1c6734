/// The class of an archived object: its name, its superclasses, and the classes that may replace it for readers that
/// don't know it.
public struct ArchivedClass: Hashable, Sendable {
  /// The name under which a reader looks the class up, such as `ScaryBugData`.
  public let name: String
  /// The names of the class and its superclasses, from the class itself to `NSObject`. Empty if the archive has only
  /// the name, which is how archivers write a renamed class. A writer then writes only the name too.
  public let chain: [String]
  /// Classes that a reader may use instead, such as `NSColor` for a `UIColor`.
  public let hints: [String]

  /// - Parameters:
  ///   - name: the class's own name.
  ///   - superclasses: the names of the superclasses, the nearest first.
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

  /// Compares names byte by byte: names that merely look alike are names of different classes.
  public static func == (left: ArchivedClass, right: ArchivedClass) -> Bool {
    // In archives of other programs the chain may be empty or begin with another name, so the name is compared too.
    ExactString(left.name) == ExactString(right.name) && ExactString.areEqual(left.chain, right.chain)
      && ExactString.areEqual(left.hints, right.hints)
  }

  /// Hashes the bytes of all names, because an archive may describe many classes with the same ``name``.
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
  /// `NSDictionary`.
  public static let dictionary = ArchivedClass("NSDictionary")
  /// `NSMutableString`.
  public static let mutableString = ArchivedClass("NSMutableString", superclasses: ["NSString", "NSObject"])
  /// `NSDate`.
  public static let date = ArchivedClass("NSDate")
  /// `NSNull`.
  public static let null = ArchivedClass("NSNull")
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
