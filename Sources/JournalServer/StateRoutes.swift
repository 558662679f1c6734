import CatalogModel
import Foundation
import HTTPServer
import JSON
import Locks

// Routes of states: facts about the journal, items and entities.

extension JournalAPI {
  /// The maximum bytes of JSON in a list. The next page continues where it ends.
  static let listByteLimit = 4 << 20

  /// `GET /api/journal`
  func journalFacts(_ request: HTTPRequest) throws -> HTTPResponse {
    _ = try Parameters(request, allowing: [])
    states.prepare()
    let version = journal.version
    let catalog = version.state
    let health = journal.health
    let refusal = refusal.withLock { $0 }
    return try .json { writer in
      writer.beginObject()
      writer.member("name", journal.url.lastPathComponent)
      try journal.writeCounts(of: version, to: &writer)
      writer.member("editable", options.isEditable && refusal == nil)
      writer.member("author", options.author)
      writer.key("tags")
      writer.beginArray()
      for tag in catalog.tags.suffix(1000) {
        tag.write(to: &writer, made: try journal.readableEntry(at: tag.created))
      }
      writer.endArray()
      writer.key("health")
      writer.beginObject()
      writer.member("checkedRevision", health.checkedRevision)
      writer.member("lastRevision", health.lastRevision)
      writer.member("endsAtDamage", journal.damage != nil)
      writer.key("problem")
      let problem =
        options.problem ?? journal.damage ?? health.problem ?? feed.problem ?? catalog.failure ?? refusal
      if let problem {
        APIError(problem, hiding: journal.url.path).write(to: &writer)
      } else {
        writer.null()
      }
      writer.endObject()
      writer.endObject()
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
      search.query.categories = try categories(named: category, in: catalog)
    }
    for condition in request.values("where") {
      search.query.conditions.append(try EntityQuery.Condition(parsing: condition))
    }
    for order in (parameters.text("sort") ?? "").split(separator: ",") {
      try search.add(order: String(order))
    }
    let offset = try parameters.count("offset", else: 0, in: 0...Int(Int32.max))
    let limit = try parameters.count("limit", else: 50, in: 1...500)
    let page = answers.page(search, in: version, erasures, offset: offset, limit: limit)
    return .json { writer in
      writer.beginObject()
      writer.member("revision", version.revision)
      writer.member("date", version.date.precise)
      writer.member("total", page.total)
      writer.member("complete", page.isComplete)
      writer.member("offset", offset)
      writer.key("items")
      writer.beginArray()
      var shown: [Catalog.Item] = []
      for item in page.items.lazy.compactMap({ catalog.item($0) })
      where writer.bytes.count < Self.listByteLimit {
        item.write(to: &writer, in: catalog)
        shown.append(item)
      }
      writer.endArray()
      writer.key("labels")
      writer.beginObject()
      for item in shown { writer.member("item:\(item.id)", Catalog.label(of: item.record, of: .item)) }
      writer.endObject()
      writeGroups(of: catalog, to: &writer)
      writer.endObject()
    }
  }

  /// Writes the kinds and categories of items, with counts if counting is fast.
  private func writeGroups(of catalog: Catalog, to writer: inout JSONWriter) {
    let isCounted = catalog.itemCount <= 20_000
    let kinds = catalog.kinds
    writer.member("itemCount", catalog.itemCount)
    writer.key("kinds")
    writer.beginArray()
    for kind in kinds.prefix(200) {
      writer.beginObject()
      writer.member("kind", kind)
      if isCounted || kinds.count == 1 {
        writer.member(
          "count",
          kinds.count == 1
            ? catalog.itemCount : catalog.items(ofKind: kind).reduce(0) { count, _ in count + 1 })
      }
      writer.endObject()
    }
    writer.endArray()
    writer.key("categories")
    writer.beginArray()
    for category in catalog.categories.prefix(200) {
      writer.beginObject()
      writer.member("id", category.id.number)
      writer.member("name", category.name)
      writer.member("color", category.color?.hex)
      if isCounted {
        writer.member("count", catalog.items(in: category.id).reduce(0) { count, _ in count + 1 })
      }
      writer.endObject()
    }
    writer.endArray()
  }

  private func categories(named text: String, in catalog: Catalog) throws -> Set<CategoryID> {
    let found = catalog.categories(named: text)
    if found.isEmpty { throw APIError(404, "notFound", "there is no category \"\(text)\" at this point") }
    return found
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
      writer.beginObject()
      writer.member("revision", revision)
      writer.key("found")
      writer.beginArray()
      var shown = 0
      for entity in found.prefix(limit) where writer.bytes.count < Self.listByteLimit {
        entity.write(to: &writer)
        shown += 1
      }
      writer.endArray()
      writer.member("more", found.count > shown)
      writer.endObject()
    }
  }

  /// `GET /api/entities/item:42`
  func entity(_ request: HTTPRequest, _ name: String) throws -> HTTPResponse {
    let version = try version(try Parameters(request, allowing: ["at"]))
    let entity = try Catalog.entity(named: name)
    let catalog = version.state
    guard let record = catalog.record(of: entity) else { throw try absence(of: entity, at: version.revision) }
    var response = HTTPResponse.json { writer in
      writer.beginObject()
      writer.member("revision", version.revision)
      writer.member("date", version.date.precise)
      writer.member("label", Catalog.label(of: record, of: entity.kind))
      writer.key("entity")
      catalog.write(entity, to: &writer)
      if entity.kind == .item, let category = catalog.item(EntityID(entity.number))?.category {
        writer.key("category")
        if let found = catalog.category(category) {
          found.write(to: &writer)
        } else {
          // An item stays in a category that was erased.
          writer.beginObject()
          writer.member("id", category.number)
          writer.member("erased", true)
          writer.endObject()
        }
      }
      if entity.kind == .item {
        writer.key("images")
        writer.beginArray()
        for image in catalog.images(of: EntityID(entity.number)).prefix(500) { image.write(to: &writer) }
        writer.endArray()
      }
      writer.endObject()
    }
    response.headers.append(("ETag", "\"\(name)@\(catalog.revision(of: entity))\""))
    return response
  }

  /// The error that says why an entity does not exist at a revision.
  func absence(of entity: EntityKey, at revision: Revision) throws -> APIError {
    let name = Catalog.name(of: entity)
    let newest = try journal.history(of: entity, asOf: .revision(revision), limit: 1).first
    var error: APIError
    if let newest {
      error = APIError(
        404, "deleted",
        newest.event.operation == .delete && !newest.isPruned
          ? "\(name) does not exist at revision \(revision): it was deleted by revision \(newest.revision)"
          : "\(name) does not exist at revision \(revision): its content was erased or pruned")
      error.revision = newest.revision
    } else {
      let ever = journal.state.revision(of: entity) > 0
      error = APIError(
        404, "notFound",
        ever
          ? "\(name) does not exist at revision \(revision): it was added later" : "\(name) never existed")
    }
    return error
  }
}

/// A state as `replay --json` prints it, written as it is read.
private final class StateBody: BufferedBody {
  private static let portionByteCount = 64 << 10

  private let catalog: Catalog
  private var writer = JSONWriter()
  private var categories: Catalog.Categories.Iterator
  private var items: Catalog.Items.Iterator
  private var images: Catalog.Images.Iterator
  private var step = 0

  init(_ version: Version<Catalog>) {
    catalog = version.state
    categories = catalog.categories.makeIterator()
    items = catalog.items.makeIterator()
    images = catalog.images.makeIterator()
    super.init()
    writer.beginObject()
    writer.member("revision", version.revision)
    writer.member("date", version.date.precise)
    writer.member("digest", version.digest.hex)
    begin("categories")
  }

  private func begin(_ key: String) {
    writer.key(key)
    writer.beginArray()
  }

  override func nextPortion() throws -> [UInt8]? {
    while step < 4, writer.bytes.count < Self.portionByteCount { advance() }
    // After a read failure the state is incomplete and must not be served as the whole.
    if let failure = catalog.failure { throw failure }
    defer { writer.removeAll() }
    return writer.bytes.isEmpty ? nil : writer.bytes
  }

  private func advance() {
    switch step {
    case 0:
      if let category = categories.next() { return category.write(to: &writer) }
      writer.endArray()
      begin("items")
    case 1:
      if let item = items.next() { return item.write(to: &writer, in: catalog) }
      writer.endArray()
      begin("images")
    case 2:
      if let image = images.next() { return image.write(to: &writer) }
      writer.endArray()
      writer.endObject()
    default: writer.newline()
    }
    step += 1
  }
}
