public import Foundation
import PropertyLists

/// An error as it was archived.
public struct ArchivedNSError: Sendable {
  /// The domain that defines the code, such as `NSCocoaErrorDomain`.
  public let domain: String
  /// The number of the error in its domain.
  public let code: Int
  /// Further information.
  public let userInfo: ArchivedDictionary?
}

/// A notification as it was archived.
public struct ArchivedNotification: Sendable {
  /// Its name.
  public let name: String
  /// Its sender.
  public let object: ArchivedValue?
  /// Further information.
  public let userInfo: ArchivedDictionary?
}

/// A regular expression as it was archived.
public struct ArchivedRegularExpression: Hashable, Sendable {
  /// The pattern.
  public var pattern: String
  /// The options, as `NSRegularExpression.Options` numbers them.
  public var options: Int
}

/// A number with its unit as it was archived.
public struct ArchivedMeasurement: Hashable, Sendable {
  /// The number, in the unit.
  public var value: Double
  /// The class of the unit, such as `NSUnitLength`.
  public var unitClass: String
  /// The symbol of the unit, such as `km`.
  public var symbol: String
}

/// A font as it was archived.
public struct ArchivedFont: Hashable, Sendable {
  /// The name of the font, such as `Menlo-Regular`.
  public var name: String
  /// Its size in points.
  public var size: Double
}

extension ArchivedValue {
  /// The error that an `NSError` holds.
  ///
  /// - Throws: `ArchiveError` with code `malformed` if it has no domain or no code.
  public var error: ArchivedNSError? {
    get throws(ArchiveError) {
      guard let object = kind(of: "NSError") else { return nil }
      guard let domain = try object.string("NSDomain"), let code = try object.integer("NSCode") else {
        throw object.malformed("the error has no NSDomain or no NSCode")
      }
      return ArchivedNSError(domain: domain, code: code, userInfo: try object["NSUserInfo"]?.dictionary)
    }
  }

  /// The notification that an `NSNotification` holds.
  ///
  /// - Throws: `ArchiveError` with code `malformed` if it has no name.
  public var notification: ArchivedNotification? {
    get throws(ArchiveError) {
      guard let object = kind(of: "NSNotification") else { return nil }
      guard let name = try object.string("NS.name") else {
        throw object.malformed("the notification has no NS.name")
      }
      return ArchivedNotification(
        name: name, object: try object["NS.object"], userInfo: try object["NS.userinfo"]?.dictionary)
    }
  }

  /// The regular expression that an `NSRegularExpression` holds.
  ///
  /// - Throws: `ArchiveError` with code `malformed` if it has no pattern.
  public var regularExpression: ArchivedRegularExpression? {
    get throws(ArchiveError) {
      guard let object = kind(of: "NSRegularExpression") else { return nil }
      guard let pattern = try object.string("NSPattern") else {
        throw object.malformed("the regular expression has no NSPattern")
      }
      return ArchivedRegularExpression(pattern: pattern, options: try object.integer("NSOptions") ?? 0)
    }
  }

  /// The number with a unit that an `NSMeasurement` holds.
  ///
  /// - Throws: `ArchiveError` with code `malformed` if it has no value or no unit.
  public var measurement: ArchivedMeasurement? {
    get throws(ArchiveError) {
      guard let object = kind(of: "NSMeasurement") else { return nil }
      guard let value = try object.double("NS.value"), let unit = try object.object("NS.unit", of: "NSUnit"),
        let symbol = try unit.string("NS.symbol")
      else {
        throw object.malformed("the measurement has no value or no unit")
      }
      return ArchivedMeasurement(value: value, unitClass: unit.className, symbol: symbol)
    }
  }

  /// The font that a `UIFont` or an `NSFont` holds.
  ///
  /// - Throws: `ArchiveError` with code `malformed` if it has no name or no size.
  public var font: ArchivedFont? {
    get throws(ArchiveError) {
      guard let object = kind(of: "NSFont", "UIFont") else { return nil }
      guard let name = try object.string("UIFontName", "NSName"),
        let size = try object.double("UIFontPointSize", "NSSize")
      else {
        throw object.malformed("the font has no name or no size")
      }
      return ArchivedFont(name: name, size: size)
    }
  }

  /// The parts of a name that an `NSPersonNameComponents` holds.
  ///
  /// - Throws: `ArchiveError` with code `malformed` if a part is not a string.
  public var personName: PersonNameComponents? {
    get throws(ArchiveError) {
      guard let object = kind(of: "NSPersonNameComponents") else { return nil }
      // Apple's class stores the parts in an object of a private class. Other implementations store them in the object
      // itself.
      var holder = object
      if case .object(let parts)? = try object["NS.nameComponentsPrivate"] { holder = parts }
      var name = PersonNameComponents()
      name.namePrefix = try holder.string("NS.namePrefix")
      name.givenName = try holder.string("NS.givenName")
      name.middleName = try holder.string("NS.middleName")
      name.familyName = try holder.string("NS.familyName")
      name.nameSuffix = try holder.string("NS.nameSuffix")
      name.nickname = try holder.string("NS.nickname")
      return name
    }
  }
}
