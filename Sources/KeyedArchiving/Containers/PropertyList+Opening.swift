public import PropertyLists

extension PropertyList {
  /// Opens a property list, in binary or in XML.
  ///
  /// ```swift
  /// let list = try PropertyList(ArchiveBytes(contentsOf: url))
  /// if case .dictionary(let keys, let values) = try list.object(list.top) { … }
  /// let tree = try list.value()
  /// ```
  ///
  /// XML is checked as a whole and converted to binary form in memory, so that everything else works the same for both.
  ///
  /// - Throws: `unsupportedFormat` if the bytes have another format, which the message names; `malformed` with the
  ///   place if they break the rules of their format; `limitExceeded`; `io` or `damaged` if a file can't be read.
  /// - Complexity: O(1) for a binary property list, O(*n*) in the bytes of XML.
  public init(_ bytes: ArchiveBytes, limits: ArchiveLimits = .init()) throws(ArchiveError) {
    guard bytes.count <= limits.byteCount else {
      throw ArchiveError(
        .limitExceeded, "the input has \(bytes.count) bytes; the limit is \(limits.byteCount)",
        path: bytes.path)
    }
    switch try DataFormat(of: bytes) {
    case .binaryPropertyList: try self.init(binary: bytes, limits: limits)
    case .xmlPropertyList:
      let binary = try xmlPropertyListInBinaryForm(bytes, limits: limits)
      try self.init(binary: binary, format: .xml, limits: limits)
    case let other: throw ArchiveError(.unsupportedFormat, other.refusal, offset: 0, path: bytes.path)
    }
  }
}
