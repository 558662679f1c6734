internal import CFiles

/// What concerns the process rather than a file.
package enum System {
  /// Fills a buffer from the operating system's source of randomness.
  package static func fillWithRandomBytes(_ buffer: UnsafeMutableRawBufferPointer) {
    // It fails on a broken system only, and there is no journal without ids and salts.
    guard unsafe cfiles_fill_with_random_bytes(buffer.baseAddress, buffer.count) == 0 else {
      fatalError("the operating system gives no random bytes")
    }
  }

  /// Makes a write beyond the process's limit of file sizes an error, instead of the end of the process. A program
  /// that handles the signal itself is left alone.
  package static func ignoreFileSizeSignal() { cfiles_ignore_file_size_signal() }

  /// Whether file managers leave files of that name in any folder, such as `.DS_Store`: they mean nothing, and are
  /// neither read nor removed.
  package static func isLitter(_ name: String) -> Bool { unsafe cfiles_is_litter(name) }
}
