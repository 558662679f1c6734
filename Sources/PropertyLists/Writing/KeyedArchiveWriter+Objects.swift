/// Objects with fields, and collections. Each is begun, given its values, and ended. They may be nested.
extension KeyedArchiveWriter {
  /// Begins an object. Append its values in the order of the shape's keys, then call ``end()``.
  public mutating func beginObject(_ shape: Shape) {
    frames.append(Frame(kind: .object, shape: shape.index, base: pending.count))
  }

  /// Begins an `NSArray`. Append its elements in order, then call ``end()``.
  ///
  /// Until the array ends, each element takes four bytes of memory.
  public mutating func beginArray() throws(ArchiveError) {
    try frames.append(Frame(kind: .list, shape: shape(.array).index, base: pending.count))
  }

  /// Begins an `NSDictionary`. Append its members, each key before its value, then call ``end()``.
  ///
  /// The caller ensures that no key occurs twice.
  public mutating func beginDictionary() throws(ArchiveError) {
    try frames.append(Frame(kind: .pairs, shape: shape(.dictionary).index, base: pending.count))
  }

  /// Writes the object or collection that was begun last.
  ///
  /// - Returns: a reference to the object, to be appended to other objects or put at the top.
  /// - Throws: ``ArchiveError/Code/unencodable`` if the number of values differs from the number of keys, or if nothing
  ///   was begun; what the sink throws.
  public mutating func end() throws(ArchiveError) -> Reference {
    try entry(endFrame())
  }

  /// Writes the dictionary whose values were begun last, with keys that it shares with other dictionaries.
  ///
  /// - Throws: ``ArchiveError/Code/unencodable`` if there are not as many values as keys; what the sink throws.
  package mutating func end(keys: Keys) throws(ArchiveError) -> Reference {
    guard let frame = frames.popLast() else { throw nothingBegun() }
    guard frame.kind == .list, pending.count - frame.base == keys.count else {
      throw ArchiveError(
        .unencodable, "a dictionary of \(keys.count) keys was given \(pending.count - frame.base) values")
    }
    let values = try writeArray(from: frame.base, step: 1)
    pending.removeLast(pending.count - frame.base)
    pending.append(keys.number)
    pending.append(values)
    return try entry(writeObject(frame))
  }

  /// A list of keys that is written once and shared by several dictionaries.
  package struct Keys: Sendable {
    let number: UInt32
    let count: Int
  }

  /// Writes the keys for dictionaries that end with ``end(keys:)``.
  package mutating func keys(_ keys: [Reference]) throws(ArchiveError) -> Keys {
    Keys(number: UInt32(try list.array(keys.map { Int($0.number) })), count: keys.count)
  }

  /// Begins the values of a dictionary, to be ended with ``end(keys:)``.
  package mutating func beginDictionaryValues() throws(ArchiveError) {
    try frames.append(Frame(kind: .list, shape: shape(.dictionary).index, base: pending.count))
  }

  private mutating func endFrame() throws(ArchiveError) -> Int {
    guard let frame = frames.popLast() else { throw nothingBegun() }
    switch frame.kind {
    case .object:
      break
    case .list:
      let elements = try writeArray(from: frame.base, step: 1)
      pending.removeLast(pending.count - frame.base)
      pending.append(elements)
    case .pairs:
      guard (pending.count - frame.base) % 2 == 0 else {
        throw ArchiveError(.unencodable, "a dictionary was ended after a key, before its value")
      }
      let keys = try writeArray(from: frame.base, step: 2)
      let values = try writeArray(from: frame.base + 1, step: 2)
      pending.removeLast(pending.count - frame.base)
      pending.append(keys)
      pending.append(values)
    }
    return try writeObject(frame)
  }

  private mutating func writeObject(_ frame: Frame) throws(ArchiveError) -> Int {
    guard frame.shape < shapes.count, shapes[frame.shape].fieldCount == pending.count - frame.base else {
      throw wrongFieldCount(frame)
    }
    let start = try list.begin(shapes[frame.shape].head.count + 4 * (pending.count - frame.base))
    unsafe shapes[frame.shape].head.withUnsafeBytes { head in unsafe list.output.put(head) }
    for index in frame.base..<pending.count { list.putReference(Int(pending[index])) }
    pending.removeLast(pending.count - frame.base)
    return try list.end(start)
  }

  private mutating func writeArray(from base: Int, step: Int) throws(ArchiveError) -> UInt32 {
    let start = try list.begin(10)
    list.output.putMarker(0xA0, count: (pending.count - base + step - 1) / step)
    for index in stride(from: base, to: pending.count, by: step) {
      try list.output.makeRoom(4)
      list.putReference(Int(pending[index]))
    }
    return UInt32(try list.end(start))
  }

  func nothingBegun() -> ArchiveError {
    ArchiveError(
      .unencodable, "there is no open object to add to or to end; begin an object or a collection first")
  }

  private func wrongFieldCount(_ frame: Frame) -> ArchiveError {
    guard frame.shape < shapes.count else {
      return ArchiveError(
        .unencodable, "the shape belongs to another writer; prepare shapes for each writer")
    }
    let shape = shapes[frame.shape]
    return ArchiveError(
      .unencodable,
      "an object of class \(shape.name) has \(shape.fieldCount) fields and was given"
        + " \(pending.count - frame.base) values; append one value for each key, in the order of the keys")
  }
}
