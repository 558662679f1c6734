/// Reads many small objects of a property list in quick succession.
///
/// A throwing call costs more than the step that it makes. So the cursor records the first error, returns null or zero
/// for unreadable values, and ``check()`` throws before the values are used. A loop over the members of a collection
/// checks ``hasFailed``, because the count may be invalid.
///
/// Everything is checked against the bytes, as everywhere in this module. A cursor is used by one thread.
@safe package struct ObjectCursor {
  private let list: PropertyList
  /// The first error.
  private var failure: ArchiveError?

  package init(_ list: PropertyList) { self.list = list }

  /// Whether there was an error so far.
  package private(set) var hasFailed = false

  /// Throws the first error, if there was one.
  package func check() throws(ArchiveError) {
    if let failure { throw failure }
  }

  /// Forgets the first error, before something else is read.
  package mutating func clear() {
    hasFailed = false
    failure = nil
  }

  /// Records an error, unless there was one before.
  package mutating func fail(_ error: ArchiveError) {
    if hasFailed { return }
    hasFailed = true
    failure = error
  }

  // MARK: - Objects

  /// The header of an object.
  package mutating func header(_ number: Int) -> ObjectHeader {
    guard number >= 0, number < list.objectCount else { return slowHeader(number) }
    let offset = self.number(at: list.objectsEnd &+ number &* list.offsetWidth, width: list.offsetWidth)
    guard offset >= PropertyList.headerSize, offset < list.objectsEnd,
      let start = unsafe list.bytes.pointerIfLoaded(at: offset, count: 1)
    else { return slowHeader(number) }
    let marker = unsafe start.load(as: UInt8.self)
    let low = Int(marker & 0xF)
    // The kinds that layers and snapshots consist of, in their short forms. Everything else, including errors, takes
    // the slow path.
    switch marker >> 4 {
    case 0x0 where low == 0x8 || low == 0x9: return short(.bool, offset, count: low - 8, byteCount: 0)
    case 0x1 where low <= 3: return short(.integer, offset, count: 1 << low, byteCount: 1 << low)
    case 0x2 where low == 2 || low == 3: return short(.real, offset, count: 1 << low, byteCount: 1 << low)
    case 0x4 where low < 0xF: return short(.data, offset, count: low, byteCount: low)
    case 0x5 where low < 0xF: return short(.asciiString, offset, count: low, byteCount: low)
    case 0x5: return longText(offset)
    case 0x8 where low <= 3: return short(.uid, offset, count: low + 1, byteCount: low + 1)
    case 0xA where low < 0xF:
      return short(.array, offset, count: low, byteCount: low &* list.referenceWidth)
    case 0xD where low < 0xF:
      return short(.dictionary, offset, count: low, byteCount: 2 &* low &* list.referenceWidth)
    default: return slowHeader(number)
    }
  }

  @inline(__always)
  private mutating func short(_ kind: ObjectKind, _ offset: Int, count: Int, byteCount: Int) -> ObjectHeader {
    guard byteCount < list.objectsEnd &- offset else { return slowHeader(at: offset) }
    return ObjectHeader(kind: kind, offset: offset, start: offset &+ 1, count: count)
  }

  /// An ASCII string whose length, if it is below 256, is in the two bytes after the marker.
  private mutating func longText(_ offset: Int) -> ObjectHeader {
    guard let start = unsafe list.bytes.pointerIfLoaded(at: offset, count: 3),
      unsafe start.load(fromByteOffset: 1, as: UInt8.self) == 0x10
    else { return slowHeader(at: offset) }
    let count = unsafe Int(start.load(fromByteOffset: 2, as: UInt8.self))
    guard count &+ 2 < list.objectsEnd &- offset else { return slowHeader(at: offset) }
    return ObjectHeader(kind: .asciiString, offset: offset, start: offset &+ 3, count: count)
  }

  @inline(never)
  private mutating func slowHeader(_ number: Int) -> ObjectHeader {
    do throws(ArchiveError) { return try list.header(number) } catch {
      fail(error)
      return .nothing
    }
  }

  @inline(never)
  private mutating func slowHeader(at offset: Int) -> ObjectHeader {
    do throws(ArchiveError) { return try list.header(at: offset) } catch {
      fail(error)
      return .nothing
    }
  }

  /// The header of an object or, if the object is a UID, of the object that it refers to.
  ///
  /// - Parameter objects: the array `$objects` of a keyed archive, to which UIDs refer.
  package mutating func resolved(_ number: Int, in objects: ObjectHeader) -> ObjectHeader {
    let uid: Int
    if let short = shortUID(number) {
      uid = short
    } else {
      let header = header(number)
      guard header.kind == .uid else { return header }
      uid = self.number(at: header.start, width: header.count)
    }
    guard uid >= 0, uid < objects.count, objects.kind == .array else {
      let offset = header(number).offset
      fail(list.malformed("a UID is \(uid), but only \(objects.count) objects were archived", offset))
      return .nothing
    }
    let width = list.referenceWidth
    return self.header(self.number(at: objects.start &+ uid &* width, width: width))
  }

  /// The value of an object that is a UID of up to four bytes, read in one step; nil says nothing about the object.
  @inline(__always)
  private mutating func shortUID(_ number: Int) -> Int? {
    guard number >= 0, number < list.objectCount, list.offsetWidth == 4,
      let place = unsafe list.bytes.pointerIfLoaded(at: list.objectsEnd &+ number &* 4, count: 4)
    else { return nil }
    let offset = unsafe Int(UInt32(bigEndian: place.loadUnaligned(as: UInt32.self)))
    guard offset >= PropertyList.headerSize, offset < list.objectsEnd &- 4,
      let start = unsafe list.bytes.pointerIfLoaded(at: offset, count: 5)
    else { return nil }
    let marker = unsafe start.load(as: UInt8.self)
    guard marker & 0xFC == 0x80 else { return nil }
    let bits = unsafe UInt32(bigEndian: start.loadUnaligned(fromByteOffset: 1, as: UInt32.self))
    return Int(bits &>> (24 &- 8 &* UInt32(marker & 3)))
  }

  // MARK: - What a header describes

  /// The object number of a member of a collection. A dictionary of n members has n keys, and then n values. Whether
  /// that object exists is checked when it is read.
  package mutating func reference(_ header: ObjectHeader, _ index: Int) -> Int {
    guard header.kind.isCollection, index >= 0, index < list.memberCount(header) else {
      do throws(ArchiveError) { return try list.reference(header, index) } catch {
        fail(error)
        return 0
      }
    }
    let width = list.referenceWidth
    return number(at: header.start &+ index &* width, width: width)
  }

  /// The object numbers of all members of a collection. Their bytes are checked once for all of them. Whether the
  /// objects exist is checked when they are read. Valid as long as the bytes of the list.
  package mutating func members(_ header: ObjectHeader) -> MemberNumbers {
    let width = list.referenceWidth
    let count = header.kind.isCollection ? list.memberCount(header) : 0
    guard count > 0, width == 1 || width == 2 || width == 4,
      let start = unsafe pointer(at: header.start, count: count &* width)
    else {
      if count > 0 { fail(list.malformed("references of \(width) bytes are not read here", header.offset)) }
      return .none
    }
    return unsafe MemberNumbers(UnsafeRawBufferPointer(start: start, count: count &* width), width: width)
  }

  /// The integer that an object is. If it is not an integer, the cursor records an error and returns 0.
  package mutating func integer(_ number: Int) -> Int {
    integer(header(number))
  }

  /// An integer of up to 8 bytes. Integers of fewer than 8 bytes are unsigned.
  package mutating func integer(_ header: ObjectHeader) -> Int {
    guard header.kind == .integer, header.count <= 8 else {
      fail(list.malformed("this is not an integer of 64 bits", header.offset))
      return 0
    }
    return number(at: header.start, width: header.count)
  }

  /// A floating-point number.
  package mutating func real(_ header: ObjectHeader) -> Double {
    guard header.kind == .real else {
      fail(list.malformed("this is not a real number", header.offset))
      return 0
    }
    let bits = UInt64(bitPattern: Int64(number(at: header.start, width: header.count)))
    return header.count == 4
      ? Double(Float(bitPattern: UInt32(truncatingIfNeeded: bits))) : Double(bitPattern: bits)
  }

  /// The bytes of data, or of a string as it is stored. Valid as long as the bytes of the list.
  package mutating func content(_ header: ObjectHeader) -> UnsafeRawBufferPointer {
    let size = header.kind == .utf16String ? 2 &* header.count : header.count
    guard let start = unsafe pointer(at: header.start, count: size) else {
      return unsafe UnsafeRawBufferPointer(start: nil, count: 0)
    }
    return unsafe UnsafeRawBufferPointer(start: start, count: size)
  }

  /// A string.
  package mutating func string(_ header: ObjectHeader) -> String {
    do throws(ArchiveError) {
      guard header.kind.isString else { throw list.malformed("this is not a string", header.offset) }
      return try list.string(header)
    } catch {
      fail(error)
      return ""
    }
  }

  // MARK: - Bytes

  /// The big-endian number of `width` bytes. A number of 8 bytes is signed.
  @inline(__always)
  private mutating func number(at offset: Int, width: Int) -> Int {
    guard let start = unsafe list.bytes.pointerIfLoaded(at: offset, count: width) else {
      return slowNumber(at: offset, width: width)
    }
    switch width {
    case 1: return unsafe Int(start.load(as: UInt8.self))
    case 2: return unsafe Int(UInt16(bigEndian: start.loadUnaligned(as: UInt16.self)))
    case 4: return unsafe Int(UInt32(bigEndian: start.loadUnaligned(as: UInt32.self)))
    case 8: return unsafe Int(Int64(bigEndian: start.loadUnaligned(as: Int64.self)))
    default: return slowNumber(at: offset, width: width)
    }
  }

  @inline(never)
  private mutating func slowNumber(at offset: Int, width: Int) -> Int {
    do throws(ArchiveError) {
      return Int(truncatingIfNeeded: try list.bytes.number(at: offset, width: width))
    } catch {
      fail(error)
      return 0
    }
  }

  @inline(__always)
  private mutating func pointer(at offset: Int, count: Int) -> UnsafeRawPointer? {
    if let start = unsafe list.bytes.pointerIfLoaded(at: offset, count: count) { return unsafe start }
    return unsafe slowPointer(at: offset, count: count)
  }

  @inline(never)
  private mutating func slowPointer(at offset: Int, count: Int) -> UnsafeRawPointer? {
    do throws(ArchiveError) { return try unsafe list.bytes.pointer(at: offset, count: count) } catch {
      fail(error)
      return nil
    }
  }
}

/// The object numbers of the members of a collection.
@safe package struct MemberNumbers {
  @usableFromInline let bytes: UnsafeRawBufferPointer
  @usableFromInline let width: Int

  /// No numbers.
  package static var none: MemberNumbers {
    unsafe MemberNumbers(UnsafeRawBufferPointer(start: nil, count: 0), width: 4)
  }

  init(_ bytes: UnsafeRawBufferPointer, width: Int) {
    unsafe self.bytes = unsafe bytes
    self.width = width
  }

  /// The object number of the member at an index. Out of range it is -1, which no object has.
  @inlinable package subscript(index: Int) -> Int {
    let offset = index &* width
    guard index >= 0, unsafe offset <= bytes.count &- width else { return -1 }
    switch width {
    case 4: return unsafe Int(UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self)))
    case 2: return unsafe Int(UInt16(bigEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt16.self)))
    default: return unsafe Int(bytes[offset])
    }
  }
}

extension ObjectHeader {
  /// Stands for an object that can't be read, or that is not known yet.
  package static let nothing = ObjectHeader(kind: .null, offset: 0, start: 0, count: 0)
}
