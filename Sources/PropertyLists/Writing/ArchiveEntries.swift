/// The array `$objects` while it is being written: the container object of each UID.
///
/// Entries are nearly always defined in order, each a few objects after the one before. So most entries take one byte:
/// the distance from the object before, mapped to a non-negative number, plus 1. (An object that is used again, such as
/// a small number, can come before the object of the last entry.) A 0 stands for an entry that was reserved and is
/// defined later; the two lists below have such entries.
struct ArchiveEntries: ~Copyable {
  private(set) var count = 0
  private var distances = OutputBuffer(capacity: 1_024)
  private var lastNumber = 0
  /// The reserved UIDs in ascending order, and the object of each once it is known.
  private var reservedUIDs: [UInt32] = []
  private var reservedNumbers: [UInt32?] = []

  @inline(__always)
  mutating func append(_ number: Int) throws(ArchiveError) -> UInt32 {
    try distances.makeRoom(10)
    let distance = number &- lastNumber
    // Even numbers are distances forward, odd numbers distances back.
    distances.put(variable: ((distance &<< 1) ^ (distance &>> (Int.bitWidth - 1))) &+ 1)
    lastNumber = number
    return try nextUID()
  }

  /// Makes an entry whose object is not written yet.
  mutating func reserve() throws(ArchiveError) -> UInt32 {
    try distances.makeRoom(1)
    distances.put(variable: 0)
    let uid = try nextUID()
    reservedUIDs.append(uid)
    reservedNumbers.append(nil)
    return uid
  }

  @inline(__always)
  private mutating func nextUID() throws(ArchiveError) -> UInt32 {
    guard count < Int(UInt32.max) else {
      throw ArchiveError(.limitExceeded, "a keyed archive holds no more than \(UInt32.max) objects")
    }
    count &+= 1
    return UInt32(truncatingIfNeeded: count &- 1)
  }

  mutating func define(_ uid: UInt32, as number: Int) throws(ArchiveError) {
    guard let place = place(of: uid), reservedNumbers[place] == nil else {
      throw ArchiveError(
        .unencodable, "object \(uid) can't be defined: it was not reserved, or is already defined",
        object: Int(uid))
    }
    reservedNumbers[place] = UInt32(number)
  }

  private func place(of uid: UInt32) -> Int? {
    var low = 0
    var high = reservedUIDs.count
    while low < high {
      let middle = (low + high) / 2
      if reservedUIDs[middle] < uid { low = middle + 1 } else { high = middle }
    }
    return low < reservedUIDs.count && reservedUIDs[low] == uid ? low : nil
  }

  /// Calls `body` with the number of each entry's object, in the order of the UIDs.
  func visit(_ body: (Int) throws(ArchiveError) -> Void) throws(ArchiveError) {
    unsafe try distances.withBytes { (bytes) throws(ArchiveError) in
      var reader = unsafe VariableReader(bytes)
      var number = 0
      var place = 0
      while let entry = reader.next() {
        guard entry == 0 else {
          number += ((entry - 1) >> 1) ^ -((entry - 1) & 1)
          try body(number)
          continue
        }
        guard let reserved = reservedNumbers[place] else {
          throw ArchiveError(
            .danglingReference,
            "object \(reservedUIDs[place]) was reserved but never defined; end an object with it before the"
              + " archive is finished", object: Int(reservedUIDs[place]))
        }
        try body(Int(reserved))
        place += 1
      }
    }
  }
}
