package import Journaling

extension SnapshotPolicy {
  /// Takes snapshots and thins them all the time, so that whatever happens to a journal happens to them too.
  package static let many = SnapshotPolicy(
    isAutomatic: true, minimumEventCount: 8, minimumEventCountAtClosing: 2)
}
