import Foundation
import Journaling
import TestSupport

/// A folder as a power loss may have left it.
struct CrashState: Sendable {
  struct File: Sendable {
    var path: String
    var durable: [UInt8]
    var writes: [SimulatedDisk.PendingWrite] = []
  }

  /// The paths of folders, each before its contents.
  var folders: [String] = []
  var files: [File] = []
  /// The newest revision that was acknowledged before the power loss.
  var acknowledged: Revision = 0
  /// Whether the creation of the journal had returned before the power loss.
  var isCreated = true
  /// How it came about, for the report of a problem.
  var name = ""

  /// Creates the folders and files in an existing folder.
  func build(in root: String) throws {
    for folder in folders {
      guard unsafe mkdir("\(root)/\(folder)", 0o700) == 0 else { throw POSIXError(.EIO) }
    }
    for file in files {
      let descriptor = unsafe open("\(root)/\(file.path)", O_WRONLY | O_CREAT | O_EXCL, 0o600)
      guard descriptor >= 0 else { throw POSIXError(.EIO) }
      defer { close(descriptor) }
      try put(file.durable, at: 0, descriptor)
      for write in file.writes { try put(write.bytes, at: write.offset, descriptor) }
    }
  }

  private func put(_ bytes: [UInt8], at offset: Int, _ descriptor: Int32) throws {
    let written = unsafe bytes.withUnsafeBytes {
      unsafe pwrite(descriptor, $0.baseAddress, $0.count, off_t(offset))
    }
    guard written == bytes.count else { throw POSIXError(.ENOSPC) }
  }
}

/// What a power loss makes of a write that was not flushed.
enum Fate: Hashable, Sendable {
  case kept
  case lost
  /// Its first bytes are there, up to the end of a sector.
  case cut(Int)
  /// The file has its length, and zeros where the bytes should be.
  case zeroed
  /// Each of its sectors is written, not written, or has random bytes, chosen by a seed. Bytes that were confirmed
  /// before and are not overwritten stay. That is all that a drive promises.
  case shredded(UInt64)
}

/// What a power loss makes of the order of changes of names.
enum NameModel: String, CaseIterable, Sendable {
  /// They survive in their order, as on a file system with one journal (ext4, XFS).
  case ordered
  /// Folders are independent of each other, and any single change since a folder's last flush may be lost. That is all
  /// that POSIX promises.
  case strict
}

/// The state of a disk after a power loss, for one outcome of everything that was not flushed. Its files are created
/// only when it is tested, because there are thousands of such states.
struct PossibleState: Sendable {
  let disk: SimulatedDisk
  let names: SimulatedDisk.Names
  /// The fates of writes in `disk.pendingWrites`. All others are kept.
  let fates: [SimulatedDisk.WriteID: Fate]
  let acknowledged: Revision
  let isCreated: Bool
  /// How it came about, for the report of a problem.
  let name: String
}

extension CrashState {
  init(_ possible: PossibleState) {
    let (disk, names, fates) = (possible.disk, possible.names, possible.fates)
    acknowledged = possible.acknowledged
    isCreated = possible.isCreated
    name = possible.name
    var open: [(folder: Int, path: String)] = [(0, "")]
    while let (folder, path) = open.popLast() {
      for (name, id) in names[folder].sorted(by: { $0.key < $1.key }) {
        let node = disk.nodes[id]
        if node.isFolder {
          folders.append(path + name)
          open.append((id, path + name + "/"))
        } else {
          let writes = node.pending.indices.flatMap { index in
            node.outcome(of: index, fates[SimulatedDisk.WriteID(node: id, index: index)] ?? .kept)
          }
          files.append(File(path: path + name, durable: node.durable, writes: writes))
        }
      }
    }
  }
}

extension SimulatedDisk.Node {
  fileprivate func outcome(of index: Int, _ fate: Fate) -> [SimulatedDisk.PendingWrite] {
    let write = pending[index]
    switch fate {
    case .kept: return [write]
    case .lost: return []
    case .cut(let count):
      return [SimulatedDisk.PendingWrite(offset: write.offset, bytes: Array(write.bytes.prefix(count)))]
    case .zeroed:
      // Bytes that were flushed before may be overwritten, but never become zeros.
      let start = max(write.offset, durable.count)
      let count = write.offset + write.bytes.count - start
      guard count > 0 else { return [] }
      return [SimulatedDisk.PendingWrite(offset: start, bytes: [UInt8](repeating: 0, count: count))]
    case .shredded(let seed):
      var random = SeededGenerator(seed: seed &+ UInt64(index))
      return write.sectors.compactMap { sector in
        switch random.next() % 3 {
        case 0: sector
        case 1: nil
        default: SimulatedDisk.PendingWrite(offset: sector.offset, bytes: random.bytes(sector.bytes.count))
        }
      }
    }
  }
}

extension SimulatedDisk.PendingWrite {
  /// The parts of the write, each in one sector of the drive.
  fileprivate var sectors: [SimulatedDisk.PendingWrite] {
    let sector = 512
    var parts: [SimulatedDisk.PendingWrite] = []
    var start = offset
    while start < offset + bytes.count {
      let end = min((start / sector + 1) * sector, offset + bytes.count)
      parts.append(
        SimulatedDisk.PendingWrite(offset: start, bytes: Array(bytes[start - offset..<end - offset])))
      start = end
    }
    return parts
  }
}

extension SimulatedDisk {
  /// A write that was not flushed.
  struct WriteID: Hashable, Sendable {
    var node: Int
    var index: Int
  }

  var pendingWrites: [WriteID] {
    nodes.indices.flatMap { node in nodes[node].pending.indices.map { WriteID(node: node, index: $0) } }
  }

  /// A disk on which a state is durable.
  init(root: String, state: CrashState) {
    self.init(root: root)
    for folder in state.folders { restore("\(root)/\(folder)", nil) }
    for file in state.files {
      var bytes = file.durable
      for write in file.writes { bytes.write(write.bytes, at: write.offset) }
      restore("\(root)/\(file.path)", bytes)
    }
  }
}

extension CrashState: Equatable {
  /// Reads the contents of a folder.
  init(reading root: String) throws {
    for name in try FileManager.default.subpathsOfDirectory(atPath: root).sorted() {
      let path = "\(root)/\(name)"
      if try FileManager.default.attributesOfItem(atPath: path)[.type] as? FileAttributeType == .typeDirectory
      {
        folders.append(name)
      } else {
        files.append(File(path: name, durable: Array(try Data(contentsOf: URL(fileURLWithPath: path)))))
      }
    }
  }

  static func == (left: CrashState, right: CrashState) -> Bool {
    left.folders == right.folders
      && left.files.elementsEqual(right.files) { $0.path == $1.path && $0.durable == $1.durable }
  }
}
