extension Journal {
  /// Waits until all layers that are due are written and merged.
  package func waitForLayers() { keeper?.waitUntilIdle() }

  /// Waits until what the retention does not keep is pruned.
  package func waitForRetention() { retention?.waitUntilIdle() }
}
