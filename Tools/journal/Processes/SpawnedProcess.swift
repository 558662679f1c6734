import Foundation

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// A child process in the process group of this program.
///
/// In that group a child can use the terminal, and Ctrl-C reaches it. `Foundation.Process` starts children in
/// groups of their own, which the system stops when they use the terminal.
struct SpawnedProcess {
  let pid: pid_t

  /// Starts a program that is found in `PATH`.
  /// - Parameters:
  ///   - descriptors: the child's standard input, output and error. The child inherits those that are missing.
  ///   - ignored: signals that this program ignores and the child must not ignore.
  ///   - hasTerminal: false to start the child in a session without a terminal, in which Ctrl-C does not reach it.
  /// - Throws: ``Failure`` if the program does not exist or can't be started.
  init(
    _ words: [String], environment: [String: String], descriptors: [Int32], ignored: [Int32] = [],
    hasTerminal: Bool = true
  ) throws {
    #if canImport(Darwin)
      var actions: posix_spawn_file_actions_t?
      var attributes: posix_spawnattr_t?
    #else
      var actions = unsafe posix_spawn_file_actions_t()
      var attributes = posix_spawnattr_t()
    #endif
    unsafe posix_spawn_file_actions_init(&actions)
    unsafe posix_spawnattr_init(&attributes)
    var arguments = unsafe words.map { unsafe strdup($0) } + [nil]
    var variables = unsafe environment.map { unsafe strdup("\($0)=\($1)") } + [nil]
    defer {
      unsafe posix_spawn_file_actions_destroy(&actions)
      unsafe posix_spawnattr_destroy(&attributes)
      while let argument = unsafe arguments.popLast() { unsafe free(argument) }
      while let variable = unsafe variables.popLast() { unsafe free(variable) }
    }
    for (target, descriptor) in descriptors.enumerated() {
      unsafe posix_spawn_file_actions_adddup2(&actions, descriptor, Int32(target))
    }
    // A child inherits which signals are ignored. If it ignored SIGPIPE, a closed pipe would not end it.
    var signals = sigset_t()
    unsafe sigemptyset(&signals)
    for number in ignored + [SIGPIPE] { unsafe sigaddset(&signals, number) }
    unsafe posix_spawnattr_setsigdefault(&attributes, &signals)
    let flags = hasTerminal ? POSIX_SPAWN_SETSIGDEF : POSIX_SPAWN_SETSIGDEF | Self.newSession
    unsafe posix_spawnattr_setflags(&attributes, Int16(flags))
    var pid: pid_t = 0
    let result = unsafe posix_spawnp(&pid, words[0], &actions, &attributes, &arguments, &variables)
    guard result == 0 else {
      let reason = result == ENOENT ? "it is not installed or not in PATH" : systemMessage(result)
      throw Failure.unreadable("\(words[0]) can't be started: \(reason)")
    }
    self.pid = pid
  }

  private static var newSession: Int32 {
    #if canImport(Darwin)
      POSIX_SPAWN_SETSID
    #else
      0x80
    #endif
  }

  /// Waits until the process has ended. Must not be called more than once.
  /// - Returns: the exit code, or 128 plus the number of the signal that ended the process.
  func wait() -> Int32 {
    var status: Int32 = 0
    while unsafe waitpid(pid, &status, 0) < 0 && errno == EINTR {}
    let signal = status & 0x7F
    return signal == 0 ? (status >> 8) & 0xFF : 128 + signal
  }

  static func makePipe() throws -> (reading: Int32, writing: Int32) {
    var ends: [Int32] = [0, 0]
    guard unsafe pipe(&ends) == 0 else {
      throw Failure.unreadable("no pipe to another program can be made: \(systemMessage(errno))")
    }
    // If another child inherited the writing end, the pipe would stay open, and its reader would wait for ever.
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    return (ends[0], ends[1])
  }

  /// Makes a temporary file without a name, which the system removes when its last descriptor is closed.
  static func makeNamelessFile() throws -> Int32 {
    var path = Array("\(NSTemporaryDirectory())/journal-XXXXXX".utf8CString)
    let descriptor = unsafe mkstemp(&path)
    guard descriptor >= 0 else {
      throw Failure.unreadable("no temporary file can be made: \(systemMessage(errno))")
    }
    unsafe unlink(path)
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    return descriptor
  }
}
