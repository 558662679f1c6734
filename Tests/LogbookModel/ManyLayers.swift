package import Journaling

extension LayerPolicy {
  /// Writes and merges layers all the time, so that whatever happens to a journal happens to its layers too.
  package static var many: LayerPolicy {
    var policy = LayerPolicy.automatic
    policy.eventCount = 6
    policy.additionsPerEvent = 1
    policy.fanout = 3
    policy.backlogCount = 200
    return policy
  }

  /// The same, without past states.
  package static var manyWithoutPast: LayerPolicy {
    var policy = many
    policy.keepsPast = false
    return policy
  }
}
