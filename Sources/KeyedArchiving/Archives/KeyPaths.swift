import PropertyLists

/// Paths to places in property lists. A path is stored as another path and a step, and becomes text only on request.
struct KeyPaths: Sendable {
  enum Step {
    /// The value of a key, by the key's object number.
    case key(Int)
    /// An element of an array.
    case element(Int)
    /// The content of the data at the end of the path so far.
    case inside
  }

  private struct Node {
    let parent: Int
    let list: Int
    let step: Step
  }

  private var nodes: [Node] = []
  private var lists: [PropertyList] = []

  mutating func add(_ list: PropertyList) -> Int {
    lists.append(list)
    return lists.count - 1
  }

  /// Adds a path that extends another one by a step. The empty path is -1.
  mutating func add(_ step: Step, after parent: Int, list: Int) -> Int {
    nodes.append(Node(parent: parent, list: list, step: step))
    return nodes.count - 1
  }

  /// The maximum number of steps in a text: in a hostile file, a million paths can have a million steps each.
  private static let stepLimit = 64

  /// A path as text. Long keys are replaced by `?`, and the beginning of a long path by `…`.
  func text(_ path: Int) -> String {
    var steps: [Node] = []
    var next = path
    while next >= 0, steps.count < Self.stepLimit {
      steps.append(nodes[next])
      next = nodes[next].parent
    }
    var text = next >= 0 ? "…" : ""
    var isFirst = next < 0
    for node in steps.reversed() {
      switch node.step {
      case .key(let number):
        if !isFirst { text += "." }
        text += name(number, in: lists[node.list])
      case .element(let position): text += "[\(position)]"
      case .inside: text += " > "
      }
      if case .inside = node.step { isFirst = true } else { isFirst = false }
    }
    return text
  }

  private func name(_ number: Int, in list: PropertyList) -> String {
    guard let header = try? list.header(number), header.kind.isString, header.count <= 256,
      let key = try? list.string(header)
    else { return "?" }
    return key
  }
}
