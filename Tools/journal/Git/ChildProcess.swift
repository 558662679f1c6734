import Foundation

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// A child process with pipes to its standard input and output.
///
/// Its standard error goes to an unnamed file, so that it never blocks on a pipe that is not read. Deinitializing the
/// object terminates the process if it is still running, and waits for it.
final class ChildProcess {
  private let program: String
  private let pid: pid_t
  private var input: Int32
  private var output: Int32
  private let errors: Int32
  private var isRunning = true

  /// Starts a program that is found in `PATH`.
  /// - Throws: ``Failure`` if it does not exist or can't be started.
  init(_ program: String, _ arguments: [String], environment: [String: String]) throws {
    self.program = program
    let inputPipe = try Self.makePipe()
    let outputPipe = try Self.makePipe()
    errors = try Self.makeNamelessFile()
    defer {
      close(inputPipe.reading)
      close(outputPipe.writing)
    }
    input = inputPipe.writing
    output = outputPipe.reading
    let descriptors = [inputPipe.reading, outputPipe.writing, errors]
    pid = try Self.spawn([program] + arguments, environment, descriptors)
  }

  deinit {
    closePipes()
    if isRunning {
      kill(pid, SIGTERM)
      _ = reap()
    }
    close(errors)
  }

  private static func makePipe() throws -> (reading: Int32, writing: Int32) {
    var ends: [Int32] = [0, 0]
    guard unsafe pipe(&ends) == 0 else {
      throw Failure(.unreadable, "no pipe to another program can be made: \(systemMessage(errno))")
    }
    // Another child must not inherit these ends, or the first would never see the end of its input.
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    return (ends[0], ends[1])
  }

  private static func makeNamelessFile() throws -> Int32 {
    var path = Array("\(NSTemporaryDirectory())/journal-XXXXXX".utf8CString)
    let descriptor = unsafe mkstemp(&path)
    guard descriptor >= 0 else {
      throw Failure(.unreadable, "no temporary file can be made: \(systemMessage(errno))")
    }
    unsafe unlink(path)
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    return descriptor
  }

  private static func spawn(
    _ words: [String], _ environment: [String: String], _ descriptors: [Int32]
  ) throws -> pid_t {
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
    // This program ignores SIGPIPE. A child would inherit that and never notice a closed pipe.
    var signals = sigset_t()
    unsafe sigemptyset(&signals)
    unsafe sigaddset(&signals, SIGPIPE)
    unsafe posix_spawnattr_setsigdefault(&attributes, &signals)
    unsafe posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF))
    var pid: pid_t = 0
    let result = unsafe posix_spawnp(&pid, words[0], &actions, &attributes, &arguments, &variables)
    guard result == 0 else {
      let reason = result == ENOENT ? "it is not installed or not in PATH" : systemMessage(result)
      throw Failure(.unreadable, "\(words[0]) can't be started: \(reason)")
    }
    return pid
  }

  /// Waits for some output and appends it.
  /// - Returns: the number of bytes, 0 at the end of the output.
  func read(atMost limit: Int, appendingTo buffer: inout [UInt8]) throws -> Int {
    var count = 0
    var failure: Int32 = 0
    let old = buffer.count
    // The bytes are read directly into the buffer, after the existing ones.
    buffer.append(contentsOf: repeatElement(0, count: limit))
    unsafe buffer.withUnsafeMutableBytes { bytes in
      repeat {
        count = unsafe Foundation.read(output, bytes.baseAddress! + old, limit)
        failure = errno
      } while count < 0 && failure == EINTR
    }
    buffer.removeLast(limit - max(0, count))
    if count < 0 { throw Failure(.unreadable, "\(program) can't be read from: \(systemMessage(failure))") }
    return count
  }

  /// Writes to the program's standard input.
  func write(_ bytes: [UInt8]) throws {
    var written = 0
    while written < bytes.count {
      let count = unsafe bytes[written...].withUnsafeBytes {
        unsafe Foundation.write(input, $0.baseAddress, $0.count)
      }
      if count >= 0 {
        written += count
      } else if errno != EINTR {
        throw Failure(.unreadable, "\(program) ended early: \(errorText)")
      }
    }
  }

  /// Closes both pipes, so that the program ends, and waits for it.
  /// - Returns: its exit code, or 128 plus the number of the signal that ended it.
  func finish() -> Int32 {
    closePipes()
    return reap()
  }

  private func closePipes() {
    if input >= 0 { close(input) }
    if output >= 0 { close(output) }
    (input, output) = (-1, -1)
  }

  private func reap() -> Int32 {
    guard isRunning else { return 0 }
    var status: Int32 = 0
    while unsafe waitpid(pid, &status, 0) < 0 && errno == EINTR {}
    isRunning = false
    let signal = status & 0x7F
    return signal == 0 ? (status >> 8) & 0xFF : 128 + signal
  }

  /// The first 4 KiB of the program's standard error so far.
  var errorText: String {
    var bytes = [UInt8](repeating: 0, count: 4096)
    let count = unsafe bytes.withUnsafeMutableBytes { unsafe pread(errors, $0.baseAddress, $0.count, 0) }
    let text = String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
    return text.trimmingCharacters(in: .whitespacesAndNewlines)
  }
}
