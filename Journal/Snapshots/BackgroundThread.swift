import Foundation

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// Runs work on a thread of its own that lets all others go first. The thread ends with the work: one of a pool
/// would keep its low priority.
enum BackgroundThread {
  private final class Work: Sendable {
    let body: @Sendable () -> Void
    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
  }

  /// - Returns: whether there was a thread to be had. If not, `body` is never run; Foundation's `Thread` does not
  ///   tell.
  static func start(_ body: @escaping @Sendable () -> Void) -> Bool {
    let pointer = unsafe Unmanaged.passRetained(Work(body)).toOpaque()
    let isStarted = unsafe startThread(pointer)
    if !isStarted { unsafe Unmanaged<Work>.fromOpaque(pointer).release() }
    return isStarted
  }

  private static func startThread(_ pointer: UnsafeMutableRawPointer) -> Bool {
    #if canImport(Darwin)
      var thread: pthread_t?
      let status = unsafe pthread_create(&thread, nil, runOnDarwin, pointer)
      if status == 0, let thread = unsafe thread { unsafe _ = pthread_detach(thread) }
    #else
      var thread: pthread_t = 0
      let status = unsafe pthread_create(&thread, nil, runOnLinux, pointer)
      if status == 0 { _ = pthread_detach(thread) }
    #endif
    return status == 0
  }

  fileprivate static func run(_ pointer: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer? {
    lowerPriority()
    let work = unsafe Unmanaged<Work>.fromOpaque(pointer).takeRetainedValue()
    work.body()
    return nil
  }

  private static func lowerPriority() {
    #if os(Linux)
      // On Linux this is about the calling thread alone.
      _ = setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, 10)
    #else
      _ = pthread_set_qos_class_self_np(QOS_CLASS_UTILITY, 0)
    #endif
  }
}

#if canImport(Darwin)
  private func runOnDarwin(_ pointer: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer? {
    unsafe BackgroundThread.run(pointer)
  }
#else
  private func runOnLinux(_ pointer: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let pointer = unsafe pointer else { return nil }
    return unsafe BackgroundThread.run(pointer)
  }
#endif
