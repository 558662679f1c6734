/// How much is in no file of a layer.
struct Backlog: Sendable {
  /// What the events count, by the time that replaying them takes (``LayerPolicy/weight(_:additionCount:)``).
  var weight = 0
  /// About how many bytes their records have in memory.
  var byteCount = 0
  /// About how many bytes they have in the log, which opening reads. More than those of the records if large records are
  /// updated often.
  var logByteCount = 0

  static func += (sum: inout Backlog, other: Backlog) {
    sum.weight += other.weight
    sum.byteCount += other.byteCount
    sum.logByteCount += other.logByteCount
  }
}
