import Foundation

/// Calls `body` while this process can open no file descriptor beyond so many. Those that are open stay open.
package func withDescriptors<Result>(atMost count: Int, _ body: () throws -> Result) rethrows -> Result {
  #if os(Linux)
    let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
  #else
    let resource = RLIMIT_NOFILE
  #endif
  var limits = rlimit()
  unsafe getrlimit(resource, &limits)
  let enough = limits
  limits.rlim_cur = rlim_t(count)
  unsafe setrlimit(resource, &limits)
  defer {
    limits = enough
    unsafe setrlimit(resource, &limits)
  }
  return try body()
}
