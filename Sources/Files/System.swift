internal import CFiles

/// System calls that concern the process, not a file.
package enum System {
  /// Fills a buffer from the operating system's source of randomness.
  package static func fillWithRandomBytes(_ buffer: UnsafeMutableRawBufferPointer) {
    // This fails only on a broken system, and a journal can't work without random ids and salts.
    guard unsafe cfiles_fill_with_random_bytes(buffer.baseAddress, buffer.count) == 0 else {
      fatalError("the operating system returned no random bytes")
    }
  }

  /// The id of this process. A forked child has a different id.
  package static var process: Int32 { cfiles_process() }

  /// Makes a write beyond the process's limit of file sizes an error instead of a fatal signal. If the program handles
  /// the signal itself, its handler is kept.
  package static func ignoreFileSizeSignal() { cfiles_ignore_file_size_signal() }

  /// Returns freed memory to the system. glibc would otherwise keep it, by default in up to eight pools for each core.
  package static func returnFreedMemory() { cfiles_return_freed_memory() }

  /// Has glibc allocate from two pools instead of up to eight for each core. What is freed leaves gaps in each pool, so
  /// the memory of a server with many threads would grow. Called before other threads start.
  package static func limitMemoryPools() { cfiles_limit_memory_pools() }

  /// Whether a name is one of those that file managers create in folders, such as `.DS_Store`.
  package static func isLitter(_ name: String) -> Bool { unsafe cfiles_is_litter(name) }
}
