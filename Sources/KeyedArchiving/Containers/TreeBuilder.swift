import Foundation
import PropertyLists

/// A value to be made for a tree. Its members are made already.
package enum TreeNode<Tree> {
  /// A value without members.
  case leaf(PropertyListValue)
  case array([Tree])
  case set([Tree])
  /// First `count` keys, then as many values.
  case dictionary([Tree], count: Int)
}

/// Builds a tree of numbered objects with an explicit stack.
///
/// 1. A collection, or a leaf that takes memory, is built once for each offset, however many objects and collections
///    refer to it.
/// 2. `valuesLeft` is lowered by the size of a collection before memory is allocated for it, and by the size of a tree
///    each time the tree is used again. So `valuesLeft` bounds both the memory and the size of the result.
/// 3. `bytesLeft` bounds the bytes of strings and data: objects may overlap, so a small file could contain thousands of
///    long strings.
struct TreeBuilder<Tree> {
  private struct Frame {
    let header: ObjectHeader
    var members: [Tree] = []
    var size = 1
  }

  private enum Known {
    case open
    case made(Tree, size: Int)
  }

  private let list: PropertyList
  private let make: (TreeNode<Tree>) -> Tree
  private let valueLimit: Int
  private var valuesLeft: Int
  private var bytesLeft: Int
  private var known: [Int: Known] = [:]
  private var stack: [Frame] = []

  init(_ list: PropertyList, sharing extra: Int, _ make: @escaping (TreeNode<Tree>) -> Tree) {
    (self.list, self.make) = (list, make)
    // Each value of a sound list takes at least one byte. Shared values count each time.
    valueLimit = min(list.limits.valueCount, 2 * list.bytes.count + extra)
    valuesLeft = valueLimit
    bytesLeft = list.contentLimit
  }

  mutating func tree(_ number: Int) throws(ArchiveError) -> Tree {
    try spend(1, at: 0)
    var (made, size) = try visit(number)
    while !stack.isEmpty {
      if let finished = made {
        stack[stack.count - 1].members.append(finished)
        stack[stack.count - 1].size += size
      }
      let top = stack.count - 1
      let header = stack[top].header
      let next = stack[top].members.count
      if next < list.memberCount(header) {
        let member = try list.reference(header, next)
        if header.kind == .dictionary, next < header.count, try list.header(member).kind.isCollection {
          throw list.malformed("a key of a dictionary is a collection", header.offset)
        }
        (made, size) = try visit(member)
      } else {
        let frame = stack.removeLast()
        let value = collection(frame)
        known[header.offset] = .made(value, size: frame.size)
        (made, size) = (value, frame.size)
      }
    }
    // The stack is empty only after something was built.
    return made ?? make(.leaf(.null))
  }

  /// The value of an object and the size of its tree. If the object is a collection that has to be built first, this
  /// pushes a frame and returns nil.
  private mutating func visit(_ number: Int) throws(ArchiveError) -> (Tree?, Int) {
    let header = try list.header(number)
    switch header.kind {
    case .array, .set, .dictionary:
      switch known[header.offset] {
      case .made(let value, let size):
        try spend(size - 1, at: header.offset)
        return (value, size)
      case .open:
        throw ArchiveError(
          .cyclic, "a collection (\(header.kind.words)) contains itself, so it has no tree",
          offset: list.place(header.offset), path: list.bytes.path)
      case nil:
        try open(header)
        return (nil, 0)
      }
    case .data, .asciiString, .utf16String:
      guard header.isLong else { return (make(.leaf(try leaf(header))), 1) }
      if case .made(let value, _) = known[header.offset] { return (value, 1) }
      try spendBytes(of: header)
      let value = make(.leaf(try leaf(header)))
      known[header.offset] = .made(value, size: 1)
      return (value, 1)
    default: return (make(.leaf(try leaf(header))), 1)
    }
  }

  private mutating func open(_ header: ObjectHeader) throws(ArchiveError) {
    guard stack.count < list.limits.depth else {
      throw ArchiveError(
        .limitExceeded, "collections are nested more than \(list.limits.depth) deep",
        offset: list.place(header.offset),
        path: list.bytes.path)
    }
    let memberCount = list.memberCount(header)
    try spend(memberCount, at: header.offset)
    known[header.offset] = .open
    stack.append(Frame(header: header))
    stack[stack.count - 1].members.reserveCapacity(memberCount)
  }

  private mutating func spend(_ count: Int, at offset: Int) throws(ArchiveError) {
    guard count <= valuesLeft else {
      throw ArchiveError(
        .limitExceeded, "as a tree, the property list has more than \(valueLimit) values",
        offset: list.place(offset), path: list.bytes.path)
    }
    valuesLeft -= count
  }

  private mutating func spendBytes(of header: ObjectHeader) throws(ArchiveError) {
    guard header.byteCount <= bytesLeft else {
      throw ArchiveError(
        .limitExceeded, "strings and data overlap so much that together they are larger than the file",
        offset: list.place(header.offset), path: list.bytes.path)
    }
    bytesLeft -= header.byteCount
  }

  private func leaf(_ header: ObjectHeader) throws(ArchiveError) -> PropertyListValue {
    switch try list.object(header) {
    case .bool(let value): .bool(value)
    case .integer(let value): .integer(value)
    case .unsigned(let value): .unsigned(value)
    case .bigInteger(let value): .bigInteger(value)
    case .real(let value): .real(value)
    case .date(let value): .date(value)
    case .uid(let value): .uid(value)
    case .data(let range): .data(try list.bytes.data(in: range))
    case .string(let text): .string(text)
    default: .null
    }
  }

  private func collection(_ frame: Frame) -> Tree {
    switch frame.header.kind {
    case .dictionary: make(.dictionary(frame.members, count: frame.header.count))
    case .set: make(.set(frame.members))
    default: make(.array(frame.members))
    }
  }
}
