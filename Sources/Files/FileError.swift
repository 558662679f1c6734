import Foundation

/// Why a call of the operating system failed.
package struct FileError: Error, Sendable {
  /// The kinds of failure that callers distinguish.
  package enum Reason: Sendable {
    case notFound
    case alreadyExists
    /// The user lacks the permission, or the file system is mounted read-only.
    case notPermitted
    /// A link where a file or folder is expected.
    case isLink
    /// A folder, pipe or device where a plain file is expected.
    case isNoFile
    /// Not a folder, where a folder is expected.
    case isNoFolder
    /// The file is larger than any valid file of its kind.
    case isTooLarge
    /// The system lacks descriptors or memory.
    case outOfResources
    /// The drive is full, or the user's quota is used up.
    case noSpace
    /// Any other failure, such as an error of the drive.
    case io
  }

  package let reason: Reason
  /// What failed and why, for people.
  package let message: String
  package let path: String

  package init(_ reason: Reason, _ message: String, path: String) {
    self.reason = reason
    self.message = message
    self.path = path
  }

  /// Makes the error for an `errno`. Only this initializer interprets these numbers.
  package init(_ number: Int32, _ action: String, path: String) {
    let (reason, words) = Self.meaning(of: number)
    let systemWords = unsafe String(cString: strerror(number))
    // LevelDB's messages end with the system's words, which are removed.
    let ending = ": \(systemWords)"
    let action = action.hasSuffix(ending) ? String(action.dropLast(ending.count)) : action
    self.init(reason, "\(action): \(words ?? systemWords)", path: path)
  }

  private static func meaning(of number: Int32) -> (Reason, String?) {
    switch number {
    case ENOENT: (.notFound, "it does not exist")
    case EEXIST, ENOTEMPTY: (.alreadyExists, "it exists already")
    case EACCES, EPERM: (.notPermitted, "this user is not allowed to")
    case EROFS: (.notPermitted, "the file system is mounted for reading only")
    case ELOOP: (.isLink, "it is a symbolic link, which could lead anywhere")
    case EISDIR: (.isNoFile, "it is a folder")
    case ENXIO: (.isNoFile, "it is a pipe, a socket or a device")
    case ENOTDIR: (.isNoFolder, "it is not a folder")
    case EMFILE: (.outOfResources, "this process has no file descriptors left; close files and try again")
    case ENFILE: (.outOfResources, "the system has no file descriptors left; try again later")
    case ENOMEM, ENOBUFS: (.outOfResources, "the system has no memory left; try again later")
    case EAGAIN: (.outOfResources, "the system can't do it at the moment; try again")
    case ENOSPC: (.noSpace, "the disk is full; free some space")
    case EDQUOT: (.noSpace, "the user's disk quota is used up; free some space")
    case EFBIG: (.noSpace, "the file would be larger than this process or the file system allows")
    case EIO: (.io, "the drive reports an error; copy what you need from it")
    case ESTALE, ENODEV, ENOTCONN: (.io, "the drive was removed; connect it again")
    default: (.io, nil)
    }
  }
}

/// The error type of a module that works with files.
package protocol FileFailure: Error {
  init(_ error: FileError)
}
