import Files
import LevelDB

/// A disk on which operations are done: its contents as programs see them, and how much of them certainly survives a
/// power loss.
struct SimulatedDisk: Sendable {
  struct PendingWrite: Sendable {
    var offset: Int
    var bytes: [UInt8]
  }

  /// A file or folder, whatever its names.
  struct Node: Sendable {
    var isFolder: Bool
    /// The index of the change that created it.
    var madeBy: Int
    /// The bytes as of the last flush.
    var durable: [UInt8] = []
    /// The writes since.
    var pending: [PendingWrite] = []
    /// How often it was flushed.
    var flushes = 0
  }

  /// A change of a name in a folder.
  struct NameChange: Sendable {
    var folder: Int
    var name: String
    /// The node that the name refers to from now on, nil if none.
    var node: Int?
  }

  typealias Names = [[String: Int]]

  /// The folder of all operations, by its recorded path.
  let root: String
  private(set) var nodes: [Node] = [Node(isFolder: true, madeBy: -1)]
  /// What the names in each folder refer to now.
  private(set) var names: Names = [[:]]
  /// All changes of names, in order. Those of one call are grouped.
  private(set) var changes: [[NameChange]] = []
  /// In the ordered model, how many of the changes are durable.
  private(set) var orderedCount = 0
  /// In the ordered model, the durable names.
  private(set) var orderedNames: Names = [[:]]
  /// In the strict model, the durable names.
  private(set) var strictNames: Names = [[:]]
  /// In the strict model, the changes in each folder that are not durable.
  private(set) var strictPending: [[[NameChange]]] = [[]]

  init(root: String) { self.root = root }

  mutating func apply(_ operation: FileOperation) {
    switch operation.kind {
    case .create: make(operation.path, isFolder: false)
    case .makeFolder: make(operation.path, isFolder: true)
    case .write:
      guard let node = node(operation.path) else { return }
      nodes[node].pending.append(PendingWrite(offset: Int(operation.offset), bytes: operation.bytes))
    case .sync:
      if let node = node(operation.path) { flush(node) }
    case .syncFolder:
      if let node = node(operation.path) { flushFolder(node) }
    case .rename:
      guard let node = node(operation.path), let newPath = operation.newPath else { return }
      let (folder, name) = place(operation.path)
      let (newFolder, newName) = place(newPath)
      guard let folder, let newFolder else { return }
      // No folder is ever renamed over another one. The two are exchanged.
      let other = names[newFolder][newName].flatMap { nodes[$0].isFolder ? $0 : nil }
      change([
        NameChange(folder: folder, name: name, node: other),
        NameChange(folder: newFolder, name: newName, node: node),
      ])
    case .remove:
      let (folder, name) = place(operation.path)
      guard let folder, names[folder][name] != nil else { return }
      change([NameChange(folder: folder, name: name, node: nil)])
    }
  }

  private mutating func make(_ path: String, isFolder: Bool) {
    let (folder, name) = place(path)
    guard let folder else { return }
    // Creating a file over an existing one empties it. A new node under the same name comes close to that, and keeps
    // the old bytes possible.
    nodes.append(Node(isFolder: isFolder, madeBy: changes.count))
    names.append([:])
    orderedNames.append([:])
    strictNames.append([:])
    strictPending.append([])
    change([NameChange(folder: folder, name: name, node: nodes.count - 1)])
  }

  private mutating func change(_ parts: [NameChange]) {
    changes.append(parts)
    names.apply(parts)
    // A rename between folders is one step in the ordered model, and two in the strict one.
    for folder in Set(parts.map(\.folder)) {
      strictPending[folder].append(parts.filter { $0.folder == folder })
    }
  }

  private mutating func flush(_ node: Int) {
    let pending = nodes[node].pending
    nodes[node].pending = []
    nodes[node].flushes += 1
    for write in pending { nodes[node].durable.write(write.bytes, at: write.offset) }
    // The file system's journal is in order. So flushing a file also makes its creation durable, and all changes
    // before it.
    makeDurable(through: nodes[node].madeBy)
  }

  private mutating func flushFolder(_ folder: Int) {
    for parts in strictPending[folder] { strictNames.apply(parts) }
    strictPending[folder] = []
    if let last = changes.lastIndex(where: { $0.contains { $0.folder == folder } }) {
      makeDurable(through: last)
    }
  }

  private mutating func makeDurable(through change: Int) {
    while orderedCount <= change {
      orderedNames.apply(changes[orderedCount])
      orderedCount += 1
    }
  }

  /// Adds a durable file, or a durable folder if `bytes` is nil.
  mutating func restore(_ path: String, _ bytes: [UInt8]?) {
    make(path, isFolder: bytes == nil)
    if let bytes { nodes[nodes.count - 1].durable = bytes }
    makeDurable(through: changes.count - 1)
    strictNames = names
    strictPending = strictPending.map { _ in [] }
  }

  // MARK: Paths

  private func node(_ path: String) -> Int? {
    if path == root { return 0 }
    let (folder, name) = place(path)
    return folder.flatMap { names[$0][name] }
  }

  /// The folder of a path, and the name in it.
  private func place(_ path: String) -> (folder: Int?, name: String) {
    precondition(path.hasPrefix(root + "/"), "\(path) is not in \(root)")
    let parts = path.dropFirst(root.count + 1).split(separator: "/")
    var folder: Int? = 0
    for part in parts.dropLast() { folder = folder.flatMap { names[$0][String(part)] } }
    return (folder, String(parts.last!))
  }
}

extension SimulatedDisk.Names {
  mutating func apply(_ changes: [SimulatedDisk.NameChange]) {
    for change in changes { self[change.folder][change.name] = change.node }
  }
}

extension [UInt8] {
  /// Writes bytes at an offset, and fills a gap before it with zeros.
  mutating func write(_ bytes: [UInt8], at offset: Int) {
    if count < offset { append(contentsOf: repeatElement(0, count: offset - count)) }
    let overlap = Swift.min(bytes.count, count - offset)
    replaceSubrange(offset..<offset + overlap, with: bytes.prefix(overlap))
    append(contentsOf: bytes.dropFirst(overlap))
  }
}
