import CatalogModel
import Foundation

/// Gives each image of an item a name of its own, or each list of a file.
struct UniqueNames {
  private var taken: Set<String> = []
  /// How often each name was wanted.
  private var namesakes: [String: Int] = [:]

  /// The name, with a number if it is taken.
  mutating func unused(_ wanted: String) -> String {
    var name = wanted
    while !taken.insert(name).inserted {
      namesakes[wanted, default: 1] += 1
      name = "\(wanted)+\(namesakes[wanted, default: 0])"
    }
    return name
  }
}

// Images.
extension UniqueNames {
  /// Larger data becomes an image, because attributes should be small.
  private static var inlineByteLimit: Int { 64 << 10 }

  /// The image for data at a path of keys.
  mutating func image(of data: Data, at path: String) -> LegacyImage {
    let name = unused(path.isEmpty ? "data" : path.usableName)
    let type = ImageType.of(data.prefix(64)) ?? ImageType.unknown
    return LegacyImage(name: name, mediaType: type, content: .data(data))
  }

  /// Whether data become an image.
  static func isImage(_ data: Data) -> Bool {
    data.count > inlineByteLimit || ImageType.of(data.prefix(64)) != nil
  }

  /// A value of a property list, with references in place of its pictures and large data.
  mutating func moving(_ value: FieldValue, at path: String, to images: inout [LegacyImage]) -> FieldValue {
    guard value.contains(where: { $0.data.map(Self.isImage) ?? false }) else { return value }
    switch value {
    case .data(let data):
      guard Self.isImage(data) else { return value }
      let image = image(of: data, at: path)
      images.append(image)
      return [Reference.image: .string(image.name)]
    case .array(let elements):
      var moved: [FieldValue] = []
      for (index, element) in elements.enumerated() {
        moved.append(moving(element, at: "\(path)[\(index)]", to: &images))
      }
      return .array(moved)
    case .dictionary(let members):
      var moved: [String: FieldValue] = [:]
      for (key, member) in members.sorted(by: { $0.key < $1.key }) {
        moved[key] = moving(member, at: path.isEmpty ? key : "\(path).\(key)", to: &images)
      }
      return .dictionary(moved)
    default: return value
    }
  }
}
