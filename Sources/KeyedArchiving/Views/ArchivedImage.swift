public import Foundation

/// An image as UIKit or AppKit archived it.
public struct ArchivedImage: Sendable {
  /// The files of the image: one for UIKit's, which is PNG; one for each representation of AppKit's, mostly TIFF. Empty
  /// for an image of the app's own resources, which is known by its name alone.
  public let files: [Data]
  /// The name of the resource that the image came from.
  public let name: String?
  /// How many pixels a point has.
  public let scale: Double?
  /// How it is turned: the number of UIKit's `UIImage.Orientation`.
  public let orientation: Int?
  /// Its size in points.
  public let size: CGSize?
}

extension ArchivedValue {
  /// The image that a `UIImage` or an `NSImage` holds.
  ///
  /// - Throws: ``ArchiveError`` with code `malformed` if a field is of another kind than it should be.
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
  /// The files in AppKit's list of representations, whose elements are a representation or a pair of a number and one.
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
