internal import CLevelDB

/// Why a call of a database failed.
package struct DatabaseError: Error, Sendable, Equatable {
  /// The kinds of failure that callers distinguish.
  package enum Code: Sendable, Equatable {
    /// There is no database at the path.
    case notFound
    /// The files are inconsistent: a wrong checksum, a missing file, a link instead of a file.
    case damaged
    /// A system call failed; `osError` says why.
    case io
    /// An invalid call.
    case wrongUse
    /// A write to a database that was opened for reading only.
    case readOnly
    /// A call after `close()`.
    case closed
    /// The database is already open for writing, in this or another process.
    case busy
    /// The system had no free descriptor. Nothing was written, and the same write may succeed later.
    case refused
    /// An earlier failure made writing unsafe; open the database again to find out what is stored.
    case poisoned
    /// The system lacks memory.
    case outOfResources
  }

  /// The kind of failure.
  package var code: Code
  /// What happened, for people, with the name of the file if one is at fault.
  package var message: String
  /// The folder of the database.
  package var path: String
  /// The system's error number, if the system was the cause.
  package var osError: Int32?
  /// The first missing or damaged key, if known.
  package var key: [UInt8]?

  package init(
    _ code: Code, _ message: String, path: String, osError: Int32? = nil, key: [UInt8]? = nil
  ) {
    self.code = code
    self.message = message
    self.path = path
    self.osError = osError
    self.key = key
  }
}

extension DatabaseError {
  /// Makes the error for a status of the C interface. Only this initializer converts LevelDB's errors.
  init(_ status: borrowing cldb_status, path: String) {
    let message = unsafe withUnsafeBytes(of: status.message) { bytes in
      unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
    }
    let osError = status.os_error == 0 ? nil : status.os_error
    let keySize = Int(status.key_size)
    let key = unsafe withUnsafeBytes(of: status.key) { unsafe Array($0.prefix(keySize)) }
    self.init(Code(status.code), message, path: path, osError: osError, key: key.isEmpty ? nil : key)
  }
}

extension DatabaseError.Code {
  fileprivate init(_ code: cldb_code) {
    switch code {
    case CLDB_NOT_FOUND: self = .notFound
    case CLDB_DAMAGED: self = .damaged
    case CLDB_WRONG_USE: self = .wrongUse
    case CLDB_READ_ONLY: self = .readOnly
    case CLDB_CLOSED: self = .closed
    case CLDB_BUSY: self = .busy
    case CLDB_REFUSED: self = .refused
    case CLDB_POISONED: self = .poisoned
    case CLDB_OUT_OF_RESOURCES: self = .outOfResources
    default: self = .io
    }
  }
}
