import CatalogModel
import Foundation
import HTTPServer
import JSON
import Locks

// Routes of states: facts about the journal, items and entities.

extension JournalAPI {
  /// `GET /api/journal`
  func journalFacts(_ request: HTTPRequest) throws -> HTTPResponse {
    _ = try Parameters(request, allowing: [])
    states.prepare()
    let version = journal.version
    let catalog = version.state
    let health = journal.health
    let refusal = refusal.withLock { $0 }
    return try .json { writer in
      writer.member("name", journal.url.lastPathComponent)
      try journal.writeCounts(of: version, to: &writer)
      writer.member("editable", options.isEditable && refusal == nil)
      writer.member("author", options.author)
      try writer.array("tags", of: catalog.tags.suffix(1000)) { writer, tag in
        tag.write(to: &writer, made: try journal.readableEntry(at: tag.created))
      }
      writer.object("health") { writer in
        writer.member("checkedRevision", health.checkedRevision)
        writer.member("lastRevision", health.lastRevision)
        writer.member("endsAtDamage", journal.endsAtDamage)
        writer.key("problem")
        let problem =
          options.problem ?? health.damage ?? health.problems.first { $0.severity == .note }?.error
          ?? feed.problem ?? catalog.failure ?? refusal
        if let problem {
          APIError(problem, hiding: journal.url.path).write(to: &writer)
        } else {
          writer.null()
        }
      }
    }
  }

  /// The version that a request asks for.
  func version(_ parameters: Parameters) throws -> Version<Catalog> {
    try states.version(at: parameters.revision("at", else: .head(), in: journal))
  }

  /// `GET /api/state`: everything, as `replay --json` prints it.
  func wholeState(_ request: HTTPRequest) throws -> HTTPResponse {
    let version = try version(try Parameters(request, allowing: ["at"]))
    return HTTPResponse(
      200, headers: [("Content-Type", "application/json"), ("Cache-Control", "no-store")],
      body: .stream(length: nil, StateBody(version)))
  }

  /// `GET /api/items`: a page of a list.
  func items(_ request: HTTPRequest) throws -> HTTPResponse {
    let parameters = try Parameters(
      request, allowing: ["at", "kind", "category", "text", "sort", "offset", "limit"], repeating: ["where"])
    let erasures = journal.erasureCount
    let version = try version(parameters)
    let catalog = version.state
    var search = ItemSearch(EntityQuery(text: parameters.text("text"), kind: parameters.text("kind")))
    if let category = parameters.text("category") {
      search.query.categories = catalog.categories(named: category)
      if search.query.categories?.isEmpty == true {
        throw APIError(404, "notFound", "there is no category \"\(category)\" at this point")
      }
    }
    for condition in request.values("where") {
      search.query.conditions.append(try EntityQuery.Condition(parsing: condition))
    }
    for order in (parameters.text("sort") ?? "").split(separator: ",") {
      try search.add(order: String(order))
    }
    let offset = try parameters.count("offset", else: 0, in: 0...Int(Int32.max))
    let limit = try parameters.count("limit", else: 50, in: 1...500)
    let page = answers.page(search, of: request, in: version, erasures, offset: offset, limit: limit)
    return .json { writer in
      writer.member("revision", version.revision)
      writer.member("date", version.date.precise)
      writer.member("total", page.total)
      writer.member("complete", page.isComplete)
      writer.member("offset", offset)
      let items = page.items.lazy.compactMap { catalog.item($0) }
      let shown = writer.list("items", of: items) { $1.write(to: &$0, in: catalog) }
      writer.object("labels") { writer in
        for item in items.prefix(shown) {
          writer.member("item:\(item.id)", Catalog.label(of: item.record, of: .item))
        }
      }
      writeGroups(of: catalog, to: &writer)
    }
  }

  /// Writes the kinds and categories of items, with counts if counting is fast.
  private func writeGroups(of catalog: Catalog, to writer: inout JSONWriter) {
    let isCounted = catalog.itemCount <= 20_000
    let kinds = catalog.kinds
    writer.member("itemCount", catalog.itemCount)
    writer.array("kinds", of: kinds.prefix(200)) { writer, kind in
      writer.object { writer in
        writer.member("kind", kind)
        if kinds.count == 1 {
          writer.member("count", catalog.itemCount)
        } else if isCounted {
          writer.member("count", catalog.items(ofKind: kind).count)
        }
      }
    }
    writer.array("categories", of: catalog.categories.prefix(200)) { writer, category in
      writer.object { writer in
        writer.member("id", category.id.number)
        writer.member("name", category.name)
        writer.member("color", category.color?.hex)
        if isCounted { writer.member("count", catalog.items(in: category.id).count) }
      }
    }
  }

  /// `GET /api/find`
  func find(_ request: HTTPRequest) throws -> HTTPResponse {
    let parameters = try Parameters(request, allowing: ["at", "text", "kind", "deleted", "limit"])
    let revision = try parameters.revision("at", else: .head(), in: journal)
    let limit = try parameters.count("limit", else: 50, in: 1...500)
    var found: [FoundEntity] = []
    try journal.find(
      EntityQuery(text: parameters.text("text"), kind: parameters.text("kind")), asOf: .revision(revision),
      deleted: parameters.flag("deleted")
    ) { entity in
      found.append(entity)
      return found.count <= limit
    }
    return .json { writer in
      writer.member("revision", revision)
      let shown = writer.list("found", of: found.prefix(limit)) { $1.write(to: &$0) }
      writer.member("more", found.count > shown)
    }
  }

  /// `GET /api/entities/item:42`
  func entity(_ request: HTTPRequest, _ name: String) throws -> HTTPResponse {
    let version = try version(try Parameters(request, allowing: ["at"]))
    let entity = try Catalog.entity(named: name)
    let catalog = version.state
    guard let record = catalog.record(of: entity) else { throw try absence(of: entity, at: version.revision) }
    var response = HTTPResponse.json { writer in
      writer.member("revision", version.revision)
      writer.member("date", version.date.precise)
      writer.member("label", Catalog.label(of: record, of: entity.kind))
      writer.key("entity")
      catalog.write(entity, to: &writer)
      guard entity.kind == .item, let item = catalog.item(EntityID(entity.number)) else { return }
      if let category = item.category {
        writer.key("category")
        if let found = catalog.category(category) {
          found.write(to: &writer)
        } else {
          // An item stays in a category that was erased.
          writer.object { writer in
            writer.member("id", category.number)
            writer.member("erased", true)
          }
        }
      }
      writer.array("images", of: catalog.images(of: item.id).prefix(500)) { $1.write(to: &$0) }
    }
    response.headers.append(("ETag", "\"\(name)@\(catalog.revision(of: entity))\""))
    return response
  }

  /// The error that says why an entity does not exist at a revision.
  func absence(of entity: EntityKey, at revision: Revision) throws -> APIError {
    let name = Catalog.name(of: entity)
    let absence = "\(name) does not exist at revision \(revision): "
    guard let newest = try journal.history(of: entity, asOf: .revision(revision), limit: 1).first else {
      let ever = journal.state.revision(of: entity) > 0
      return APIError(404, "notFound", ever ? absence + "it was added later" : "\(name) never existed")
    }
    let isDeleted = newest.event.operation == .delete && !newest.isPruned
    var error = APIError(
      404, "deleted",
      absence
        + (isDeleted ? "it was deleted by revision \(newest.revision)" : "its content was erased or pruned"))
    error.revision = newest.revision
    return error
  }
}

/// A state as `replay --json` prints it, written as it is read.
private final class StateBody: BufferedBody {
  private static let portionByteCount = 64 << 10

  private let catalog: Catalog
  private var writer = JSONWriter()
  /// The lists that were not yet written, each with what writes its next element, and returns false at the end.
  private var lists: [(key: String, writeNext: (inout JSONWriter) -> Bool)] = []

  init(_ version: Version<Catalog>) {
    let catalog = version.state
    self.catalog = catalog
    lists = [
      ("categories", Self.list(of: catalog.categories) { $0.write(to: &$1) }),
      ("items", Self.list(of: catalog.items) { $0.write(to: &$1, in: catalog) }),
      ("images", Self.list(of: catalog.images) { $0.write(to: &$1) }),
    ]
    super.init()
    writer.beginObject()
    writer.member("revision", version.revision)
    writer.member("date", version.date.precise)
    writer.member("digest", version.digest.hex)
    beginList()
  }

  private static func list<Elements: Sequence>(
    of elements: Elements, _ write: @escaping (Elements.Element, inout JSONWriter) -> Void
  ) -> (inout JSONWriter) -> Bool {
    var iterator = elements.makeIterator()
    return { writer in
      guard let element = iterator.next() else { return false }
      write(element, &writer)
      return true
    }
  }

  private func beginList() {
    if let list = lists.first {
      writer.key(list.key)
      writer.beginArray()
    } else {
      writer.endObject()
      writer.newline()
    }
  }

  override func nextPortion() throws -> [UInt8]? {
    while let list = lists.first, writer.bytes.count < Self.portionByteCount {
      if list.writeNext(&writer) { continue }
      writer.endArray()
      lists.removeFirst()
      beginList()
    }
    // After a read failure the state is incomplete and must not be served as the whole.
    if let failure = catalog.failure { throw failure }
    defer { writer.removeAll() }
    return writer.bytes.isEmpty ? nil : writer.bytes
  }
}
