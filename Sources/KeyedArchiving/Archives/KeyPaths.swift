/// The ways to many places in property lists, each a step from another. Only those that are asked for become text.
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

  /// Adds a way that goes a step further than another one, -1 being the beginning.
  mutating func add(_ step: Step, after parent: Int, list: Int) -> Int {
    nodes.append(Node(parent: parent, list: list, step: step))
    return nodes.count - 1
  }

  /// How many steps of a way are put into words: a hostile file can have a million ways of a million steps.
  private static let stepLimit = 64

  /// A way in words. Long keys are cut, and so is the beginning of a long way.
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
