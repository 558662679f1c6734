internal import CFiles
public import Foundation
public import PropertyLists

extension ArchiveBytes {
  /// Copies bytes.
  public convenience init(_ data: Data) {
    unsafe self.init(count: data.count) { target in
      unsafe data.withUnsafeBytes { unsafe target.copyMemory(from: $0) }
    }
  }

  /// Opens a file, whose pages are read when they are first touched.
  ///
  /// - Throws: `io` if the file can't be opened or is not a regular file; `limitExceeded` if it is larger than 4 GiB.
  public convenience init(contentsOf url: URL) throws(ArchiveError) {
    let path = url.path(percentEncoded: false)
    func failed(_ what: String, _ number: Int32) -> ArchiveError {
      ArchiveError(.io, "the file can't be \(what): \(unsafe String(cString: strerror(number)))", path: path)
    }
    let descriptor = unsafe cfiles_open(cfiles_current_folder(), path, Int32(CFILES_READ), true, 0)
    guard descriptor >= 0 else { throw failed("opened", -descriptor) }
    var status = cfiles_status()
    let result = unsafe cfiles_status_of(descriptor, &status)
    let (byteCount, limit) = (Int(clamping: status.byte_count), ArchiveLimits().byteCount)
    let problem: ArchiveError? =
      if result != 0 {
        failed("examined", -result)
      } else if status.kind != CFILES_IS_FILE {
        ArchiveError(.io, "this is a folder or a device, where a file is needed", path: path)
      } else if byteCount > limit {
        ArchiveError(.limitExceeded, "the file has \(byteCount) bytes; the limit is \(limit)", path: path)
      } else {
        nil
      }
    if let problem {
      _ = cfiles_close(descriptor)
      throw problem
    }
    try unsafe self.init(descriptor: descriptor, byteCount: byteCount, path: path, check: { _, _ in true })
  }

  /// A copy of the bytes of a range.
  ///
  /// - Throws: `malformed` if the range is not within the bytes; `io` or `damaged` if the file can't be read.
  public func data(in range: Range<Int>) throws(ArchiveError) -> Data {
    try unsafe withBytes(in: range) { (bytes) throws(ArchiveError) in unsafe Data(bytes) }
  }

  /// A copy of the bytes of a range.
  package func copy(of range: Range<Int>) throws(ArchiveError) -> [UInt8] {
    try unsafe withBytes(in: range) { (bytes) throws(ArchiveError) in unsafe [UInt8](bytes) }
  }
}
