public import PropertyLists

extension KeyedArchiveWriter {
  /// Writes an archive into memory.
  ///
  /// - Parameter body: writes the objects, and returns the values at the top.
  public static func bytes(
    _ body: (inout KeyedArchiveWriter) throws(ArchiveError) -> Top
  ) throws(ArchiveError) -> [UInt8] {
    try bytes(maximumObjectCount: Int(UInt32.max), body)
  }

  /// - Parameter maximumObjectCount: the limit on objects of the property list, which has about three for each string.
  package static func bytes(
    maximumObjectCount: Int, _ body: (inout KeyedArchiveWriter) throws(ArchiveError) -> Top
  ) throws(ArchiveError) -> [UInt8] {
    var bytes: [UInt8] = []
    var writer = try unsafe KeyedArchiveWriter(maximumObjectCount: maximumObjectCount) {
      unsafe bytes.append(contentsOf: $0)
    }
    let top = try body(&writer)
    try writer.finish(top)
    return bytes
  }

  /// A real number of 4 bytes, as `encodeFloat` writes it.
  public mutating func value(_ float: Float) throws(ArchiveError) -> Value {
    try Value(number: UInt32(list.float(float)))
  }

  /// Appends a value that readers interpret as nil.
  public mutating func appendNull() throws(ArchiveError) { try append(null) }

  /// Appends a real number of 4 bytes.
  public mutating func append(float: Float) throws(ArchiveError) { try append(number: value(float)) }
}

extension BinaryPropertyListWriter {
  /// - Parameter body: writes the objects, and returns the number of the top object.
  package static func bytes(
    maximumObjectCount: Int = Int(UInt32.max),
    _ body: (inout BinaryPropertyListWriter) throws(ArchiveError) -> Int
  ) throws(ArchiveError) -> [UInt8] {
    var bytes: [UInt8] = []
    var writer = unsafe BinaryPropertyListWriter(maximumObjectCount: maximumObjectCount) {
      unsafe bytes.append(contentsOf: $0)
    }
    let top = try body(&writer)
    try writer.finish(top: top)
    return bytes
  }
}
