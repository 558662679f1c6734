public import Foundation
import PropertyLists

/// An image as UIKit or AppKit archived it.
public struct ArchivedImage: Sendable {
  /// The files of the image. UIKit stores one, a PNG; AppKit stores one for each representation, mostly TIFF. Empty for
  /// an image from the app's own resources, of which only the name is stored.
  public let files: [Data]
  /// The name of the resource that the image came from.
  public let name: String?
  /// The number of pixels per point.
  public let scale: Double?
  /// Its orientation, as the raw value of UIKit's `UIImage.Orientation`.
  public let orientation: Int?
  /// Its size in points.
  public let size: CGSize?
}

extension ArchivedValue {
  /// The image that a `UIImage` or an `NSImage` holds.
  ///
  /// - Throws: `ArchiveError` with code `malformed` if a field is of another kind than it should be.
  public var image: ArchivedImage? {
    get throws(ArchiveError) {
      guard let object = kind(of: "UIImage", "NSImage") else { return nil }
      var files = try object.representations()
      if let file = try object.data("UIImageData") { files.insert(file, at: 0) }
      return ArchivedImage(
        files: files,
        name: try object.string("UIResourceName", "NSName"),
        scale: try object.double("UIScale"), orientation: try object.integer("UIImageOrientation"),
        size: try object["NSSize"]?.size)
    }
  }
}

extension ArchivedObject {
  /// The files in AppKit's list of representations. Each element is a representation, or a pair of a number and a
  /// representation.
  fileprivate func representations() throws(ArchiveError) -> [Data] {
    var files: [Data] = []
    for element in try self["NSReps"]?.array?.elements() ?? [] {
      for part in try element.array?.elements() ?? [element] {
        guard case .object(let representation) = part else { continue }
        if let file = try representation.data("NSTIFFRepresentation") { files.append(file) }
      }
    }
    return files
  }
}
