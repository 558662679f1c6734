import CatalogModel
import JSON

/// Texts of entities to which values refer, such as `category:1 (Novels)`, before and after the changes.
struct ReferenceTexts {
  let labels: Labels
  let old: (EntityKey) throws -> String
  let new: (EntityKey) throws -> String
}

extension ReferenceTexts {
  init(_ labels: Labels, from old: Revision, to new: Revision) {
    self.init(
      labels: labels, old: { try labels.reference(to: $0, at: old) },
      new: { try labels.reference(to: $0, at: new) })
  }
}

/// Prints changes for people: a line for each part, long texts line by line, nested values by path.
struct ChangeText {
  let terminal: Terminal
  let isFull: Bool

  func print(_ difference: EntityDifference, _ references: ReferenceTexts) throws {
    let (entity, record) = (difference.entity, difference.new ?? difference.old)
    let label = record.flatMap { Catalog.label(of: $0, of: entity.kind) }
    try print(entity, difference.operation, label: label, difference.parts, references)
  }

  func print(_ events: [JournalEvent], in revision: Revision, _ labels: Labels) throws {
    for event in events {
      let parts = try labels.journal.parts(changedBy: event)
      try print(event, parts, label: try labels.label(of: event, in: revision), in: revision, labels)
    }
  }

  func print(
    _ event: JournalEvent, _ parts: [PartChange], label: String?, in revision: Revision, _ labels: Labels
  ) throws {
    let isErased = if case .erased = event.change { true } else { false }
    let references = ReferenceTexts(labels, from: revision - 1, to: revision)
    try print(event.entity, event.operation, label: label, isErased ? nil : parts, references)
  }

  /// - Parameter parts: nil if the content was erased.
  private func print(
    _ entity: EntityKey, _ operation: JournalEvent.Operation, label: String?, _ parts: [PartChange]?,
    _ references: ReferenceTexts
  ) throws {
    let heading = terminal.styled(operation.style, "\(operation.sign) \(Catalog.name(of: entity))")
    let text = label.map { "  " + $0.printable.shortened(to: 60) } ?? ""
    try terminal.line(heading + terminal.styled(.faint, text))
    guard let parts else { return try line("content", erasedText) }
    let isUpdate = operation == .update
    for part in parts {
      let name = part.key.name(of: entity.kind).printable
      func text(_ value: FieldValue, _ reference: (EntityKey) throws -> String) throws -> String {
        try terminal.text(
          of: value, part.key, of: entity.kind, isFull: isFull,
          targets: try references.labels.targets(of: value, part.key, of: entity), reference: reference)
      }
      switch (part.old, part.new) {
      case (let old?, let new?):
        let isReference = try [old, new].contains {
          try !references.labels.targets(of: $0, part.key, of: entity).isEmpty
        }
        if case .attribute = part.key, !isReference {
          for (path, old, new) in ValueDifference.leaves(old, new, path: name) {
            try printLeaf(path.printable, old, new)
          }
        } else {
          try printPair(name, text(old, references.old), text(new, references.new), old, new)
        }
      case (nil, let new?): try line(name, (isUpdate ? "(none) → " : "") + text(new, references.new))
      case (let old?, nil): try line(name, text(old, references.old) + (isUpdate ? " → (none)" : ""))
      case (nil, nil): break
      }
    }
  }

  private func printLeaf(_ name: String, _ old: FieldValue?, _ new: FieldValue?) throws {
    if case .string(let old)? = old, case .string(let new)? = new,
      old.utf8.contains(0x0A) || new.utf8.contains(0x0A)
    {
      try terminal.line("    \(name):")
      for line in LineDifference(old, new, context: isFull ? .max : 1).lines {
        let style: Style? = line.hasPrefix("+") ? .green : line.hasPrefix("-") ? .red : nil
        let shown = isFull ? line.printable : line.printable.shortened(to: 160)
        try terminal.line("      " + (style.map { terminal.styled($0, shown) } ?? shown))
      }
      return
    }
    let whole = [old, new].map { $0.map { terminal.text(of: $0, isFull: true) } ?? "(none)" }
    let (oldText, newText) = isFull ? (whole[0], whole[1]) : CutText.pair(whole[0], whole[1], limit: 80)
    try printPair(name, oldText, newText, old, new)
  }

  /// Prints two values that differ. If both have the same text, as data of one size and two spellings of a word have,
  /// digests of their bytes show the difference; for dates, fractions of a second do.
  private func printPair(
    _ name: String, _ oldText: String, _ newText: String, _ old: FieldValue?, _ new: FieldValue?
  ) throws {
    guard oldText == newText, let old, let new else { return try line(name, "\(oldText) → \(newText)") }
    if case .date(let old) = old, case .date(let new) = new {
      let texts = [old, new].map { terminal.text(ofValue: $0, withFraction: true) }
      return try line(name, texts.joined(separator: " → "))
    }
    let digests = [old, new].map { " (SHA-256 \($0.shortDigest)…)" }
    try line(name, oldText + digests[0] + " → " + newText + digests[1])
  }

  private func line(_ name: String, _ text: String) throws {
    try terminal.line("    \(name): \(text)")
  }
}

extension JournalEvent.Operation {
  var sign: String {
    switch self {
    case .add: "+"
    case .update: "~"
    case .delete: "-"
    }
  }

  var style: Style {
    switch self {
    case .add: .green
    case .update: .yellow
    case .delete: .red
    }
  }
}
