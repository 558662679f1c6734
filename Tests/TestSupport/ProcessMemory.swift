import Foundation

/// How many bytes of memory this process has; nil where the system does not say.
package var residentByteCount: Int? {
  guard let text = try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8) else { return nil }
  return text.split(separator: " ").dropFirst().first.flatMap { Int($0) }.map { $0 * 4096 }
}
