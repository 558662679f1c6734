/// The array `$objects` while an archive is written: for each UID, the number of its object in the property list.
struct ArchiveEntries: ~Copyable {
  /// Marks an entry that was reserved and is defined later. No object has this number.
  private static let reserved = UInt32.max

  private var numbers: [UInt32] = []

  var count: Int { numbers.count }

  /// - Returns: the UID of the new entry.
  @inline(__always)
  mutating func append(_ number: Int) throws(ArchiveError) -> UInt32 {
    guard numbers.count < Int(UInt32.max) else {
      throw ArchiveError(.limitExceeded, "a keyed archive holds no more than \(UInt32.max) objects")
    }
    numbers.append(UInt32(truncatingIfNeeded: number))
    return UInt32(truncatingIfNeeded: numbers.count &- 1)
  }

  /// Makes an entry whose object is not written yet.
  mutating func reserve() throws(ArchiveError) -> UInt32 { try append(Int(Self.reserved)) }

  mutating func define(_ uid: UInt32, as number: Int) throws(ArchiveError) {
    guard uid < numbers.count, numbers[Int(uid)] == Self.reserved else {
      throw ArchiveError(
        .unencodable, "object \(uid) can't be defined: it was not reserved, or is already defined",
        object: Int(uid))
    }
    numbers[Int(uid)] = UInt32(number)
  }

  /// Calls `body` with the number of each entry's object, in the order of the UIDs.
  func visit(_ body: (Int) throws(ArchiveError) -> Void) throws(ArchiveError) {
    for (uid, number) in numbers.enumerated() {
      guard number != Self.reserved else {
        throw ArchiveError(
          .danglingReference,
          "object \(uid) was reserved but never defined; end an object with it before the archive is finished",
          object: uid)
      }
      try body(Int(number))
    }
  }
}
