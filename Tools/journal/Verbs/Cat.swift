import CatalogModel
import EntitySearch
import JSON

enum Cat: Verb {
  static let text = """
    cat: writes the bytes of an image, or one attribute

    Writes the bytes of an image, or one attribute of an item: text and data unchanged, anything else as JSON. With
    @SELECTOR it writes the image or attribute as of that point.

    Arguments: JOURNAL
    WHAT: image:7, item:42.text, or with a point in time item:42.text@HEAD~3

    $ journal cat Books.journal image:7 > cover.png  # an image as a file
    $ journal cat Books.journal item:42.text@yesterday  # a text as of yesterday
    """
  static let endsWithReader = true

  static func run(_ arguments: Arguments, _ terminal: Terminal) throws {
    let what = arguments.operand("WHAT")
    guard let match = what.wholeMatch(of: /([a-z]+:[0-9]+)(?:\.([^@]+))?(?:@(.+))?/) else {
      throw Failure.wrongUse("\"\(what)\" is neither an image (image:7) nor an attribute (item:42.text)")
    }
    let entity = try Catalog.entity(String(match.1))
    let journal = try arguments.openJournal(terminal)
    let point = try match.3.map { try arguments.selector(String($0)) } ?? .head()
    let revision = try journal.revision(at: point)
    guard let row = try journal.entity(entity, asOf: .revision(revision)) else {
      throw try journal.absence(of: entity, at: revision)
    }
    guard let field = match.2.map(String.init) else {
      guard let blob = Catalog.blobs(in: row.record, of: entity.kind).first else {
        throw Failure.wrongUse(
          "\(match.1) has no bytes of its own; name an attribute, such as \(match.1).title")
      }
      let reader = try journal.blobs.reader(of: blob, isChecked: false)
      var offset = 0
      while case let piece = try reader.piece(at: offset, byteCount: 1 << 20), !piece.isEmpty {
        try terminal.output.write(piece)
        offset += piece.count
      }
      return
    }
    guard let key = Catalog.key(named: field, of: entity.kind), let value = row.record.value(of: key) else {
      throw Failure.no(
        entity.kind == .item
          ? "\(match.1) has no attribute \(field.printable) at revision \(revision)"
          : "only items have attributes; journal show prints the fields of \(match.1)")
    }
    switch Catalog.shown(value, key, of: entity.kind) {
    case .string(let text): try terminal.output.write(text)
    case .data(let data): try terminal.output.write(data)
    case let value: try terminal.output.line(value.json)
    }
  }
}
