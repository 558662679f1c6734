/// The name of a snapshot or layer: `0000000000000042` for the whole state of revision 42, and
/// `0000000000000042-0000000000000099` for the layer of the changes after 42 up to 99.
package struct LayerName: Hashable, Sendable, Comparable {
  /// Nil for a snapshot, which is a whole state that was requested.
  let from: Revision?
  package let to: Revision

  package static func < (left: LayerName, right: LayerName) -> Bool {
    (left.to, left.from ?? -1) < (right.to, right.from ?? -1)
  }

  /// What the file is: a `snapshot` if the state was requested, otherwise a `layer`.
  package var noun: String { from == nil ? "snapshot" : "layer" }

  private static let fileSuffix = ".plist"
  private static let footerSuffix = ".record"

  private var text: String {
    let to = Self.digits(to)
    return from.map { "\(Self.digits($0))-\(to)" } ?? to
  }

  package var fileName: String { text + Self.fileSuffix }
  package var footerName: String { text + Self.footerSuffix }

  package init?(fileName: String) { self.init(fileName, Self.fileSuffix) }
  init?(footerName: String) { self.init(footerName, Self.footerSuffix) }

  init(from: Revision?, to: Revision) {
    self.from = from
    self.to = to
  }

  private init?(_ name: String, _ suffix: String) {
    guard name.hasSuffix(suffix) else { return nil }
    let parts = name.dropLast(suffix.count).split(separator: "-", omittingEmptySubsequences: false)
    let revisions = parts.compactMap { Self.revision($0) }
    guard revisions.count == parts.count, let to = revisions.last, revisions.count <= 2 else { return nil }
    if revisions.count == 2, revisions[0] >= to { return nil }
    self.init(from: revisions.count == 2 ? revisions[0] : nil, to: to)
  }

  private static func digits(_ revision: Revision) -> String {
    let digits = String(revision)
    return String(repeating: "0", count: max(16 - digits.count, 0)) + digits
  }

  private static func revision(_ digits: Substring) -> Revision? {
    guard digits.count >= 16, digits.allSatisfy({ $0.isASCII && $0.isNumber }) else { return nil }
    return Revision(digits)
  }
}
