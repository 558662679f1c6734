import Files
import PropertyLists

/// Opening the file of a layer. A small one is read and checked at once, so that the layer's states no longer need the
/// disk. Pages of a large one are read and checked when they are first touched.
extension LayerFile {
  /// - Parameters:
  ///   - memoryByteCount: a file of up to this size is read into memory as a whole.
  ///   - quota: bounds the pages in memory.
  /// - Throws: ``JournalError`` with code `damaged` if the file is missing, of another size, or found to be altered.
  convenience init(
    _ name: LayerName, in folder: Folder?, footer: LayerFooter, shape: StateShape, memoryByteCount: Int,
    quota: PageQuota
  ) throws(JournalError) {
    let bytes = try Self.bytes(
      of: name, in: folder, footer: footer, memoryByteCount: memoryByteCount, quota: quota)
    do throws(ArchiveError) { try self.init(bytes, revision: name.to, shape: shape) } catch {
      throw Self.failure(error, of: name, folder?.path(of: name.fileName) ?? name.fileName)
    }
  }

  /// The text in which a snapshot describes itself to people, and its declared indexes. Fails unless the snapshot has
  /// the parts of the model.
  static func about(
    _ name: LayerName, in folder: Folder?, footer: LayerFooter, shape: StateShape
  ) throws(JournalError) -> (text: String, indexes: [IndexDefinition]) {
    let bytes = try bytes(of: name, in: folder, footer: footer)
    do throws(ArchiveError) {
      let reader = try LayerReader(PropertyList(binary: bytes))
      let root = try reader.root()
      try shape.check(root, reader)
      return (
        try reader.string(root.header(LayerLayout.Root.about)),
        try indexes(ofWords: false, root, reader, shape).map(\.0)
      )
    } catch {
      throw failure(error, of: name, folder?.path(of: name.fileName) ?? name.fileName)
    }
  }

  private static func bytes(
    of name: LayerName, in folder: Folder?, footer: LayerFooter, memoryByteCount: Int = 0,
    quota: PageQuota? = nil
  ) throws(JournalError) -> ArchiveBytes {
    let file = try open(name, in: folder, footer: footer)
    let (path, checksums, byteCount) = (file.path, footer.pageChecksums, footer.byteCount)
    if byteCount <= memoryByteCount {
      var read: Result<Int, JournalError> = .success(0)
      let bytes = unsafe ArchiveBytes(count: byteCount, path: path) { bytes in
        read = Result { () throws(JournalError) in unsafe try file.read(into: bytes, at: 0) }
      }
      guard try read.get() == byteCount else {
        throw JournalError(
          .damaged, "the \(name.noun) was cut while it was being read", revision: name.to, path: path)
      }
      do throws(ArchiveError) {
        for page in checksums.indices {
          let range = footer.range(ofPage: page)
          let found = try unsafe bytes.withBytes(in: range) { unsafe CRC32C.checksum($0) }
          guard found == checksums[page] else { throw altered(range, path) }
        }
      } catch { throw failure(error, of: name, path) }
      return bytes
    }
    let descriptor = try file.duplicateDescriptor()
    do throws(ArchiveError) {
      return unsafe try ArchiveBytes(
        descriptor: descriptor, byteCount: byteCount, pageSize: LayerFooter.pageByteCount, path: path,
        check: { page, bytes in unsafe page < checksums.count && CRC32C.checksum(bytes) == checksums[page] },
        quota: quota)
    } catch { throw failure(error, of: name, path) }
  }

  /// Opens the file of a layer or snapshot. Fails unless the file has the size that the footer says.
  static func open(
    _ name: LayerName, in folder: Folder?, footer: LayerFooter
  ) throws(JournalError) -> File {
    let path = folder?.path(of: name.fileName) ?? name.fileName
    do throws(JournalError) {
      guard let folder else { throw JournalError(.notFound, "the folder snapshots is missing") }
      let file = try folder.file(name.fileName, .reading)
      let byteCount = try file.byteCount()
      guard byteCount == footer.byteCount else {
        throw JournalError(
          .damaged, "the \(name.noun) has \(byteCount) bytes and should have \(footer.byteCount)",
          revision: name.to, path: path)
      }
      return file
    } catch {
      guard error.code == .notFound else { throw error }
      throw JournalError(.damaged, "the \(name.noun) is missing", revision: name.to, path: path)
    }
  }

  /// Reads a whole file and fails at the first altered page. Memory holds one page, however large the file is.
  static func checkAllPages(
    _ name: LayerName, in folder: Folder?, footer: LayerFooter
  ) throws(JournalError) {
    let file = try open(name, in: folder, footer: footer)
    let page = UnsafeMutableRawBufferPointer.allocate(byteCount: LayerFooter.pageByteCount, alignment: 16)
    defer { unsafe page.deallocate() }
    for (index, checksum) in footer.pageChecksums.enumerated() {
      let range = footer.range(ofPage: index)
      let bytes = unsafe UnsafeMutableRawBufferPointer(rebasing: page[..<range.count])
      let read = try unsafe file.read(into: bytes, at: range.lowerBound)
      guard read == range.count, unsafe CRC32C.checksum(UnsafeRawBufferPointer(bytes)) == checksum else {
        throw failure(altered(range, file.path), of: name, file.path)
      }
    }
  }

  private static func altered(_ range: Range<Int>, _ path: String) -> ArchiveError {
    ArchiveError(
      .damaged, "the \(range.count) bytes from byte \(range.lowerBound) on are not those that were written",
      offset: range.lowerBound, path: path)
  }

  /// The error for a failed read: `io` for a fault that may be temporary, otherwise `damaged`.
  static func failure(_ error: ArchiveError, of name: LayerName, _ path: String) -> JournalError {
    if error.code == .io {
      return JournalError(
        .io, "the \(name.noun) can't be read at the moment: \(error.message)", revision: name.to, path: path)
    }
    let problem = error.code == .unsupportedFormat ? "can't be used" : "is damaged"
    return JournalError(
      .damaged, "the \(name.noun) \(problem): \(error.message)", revision: name.to, path: path,
      offset: error.offset)
  }
}

extension StateShape {
  func check(_ root: ArchivedMembers, _ reader: LayerReader) throws(ArchiveError) {
    typealias Root = LayerLayout.Root
    guard try reader.texts(root.header(Root.kinds)).elementsEqual(kinds),
      try root.members(Root.indexes).names.isSuperset(of: indexes),
      try root.members(Root.lists).names.isSuperset(of: lists)
    else { throw ArchiveError(.unsupportedFormat, Self.advice) }
  }
}
