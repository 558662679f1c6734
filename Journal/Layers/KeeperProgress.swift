/// The state of a ``LayerKeeper`` that its lock guards.
///
/// Not nested: the type would then be generic over the state, and each commit would look it up at run time.
struct KeeperProgress: Sendable {
  var schedule: LayerSchedule
  /// The earlier states that become checkpoints of the next layer, oldest first.
  var moments: [LayerMoment] = []
  var requests: [@Sendable () -> Void] = []
}
