import CatalogModel
import EntitySearch
import Foundation
import HTTPServer
import JSON
import Locks

// Routes of states: facts about the journal, items and entities.

/// Texts that several examples share.
enum Example {
  /// The date, author and note of the second entry.
  static let spelling = #""date":"2026-08-02T09:00:00.000000Z","author":"bob","note":"spelling""#
  static let dune = #"""
    {"id":1,"kind":"book","category":1,"attributes":{"stars":5,"title":"Dune"},"images":[1],"created":1,"modified":2}
    """#
  /// The changes of the second entry.
  static let changes = #"{"stars":{"old":3,"new":5},"title":{"old":"Dun","new":"Dune"}}"#
}

extension Route {
  static let journal = get(
    "/api/journal", "The journal's id, counts and newest entry, and how far its chain of digests was checked",
    details: """
      firstDate is null if there is no entry, or if the first one is damaged. A tag has no date, author and note if the \
      entry that made it was pruned or is damaged. problem is null, or has the code, message, revision and advice of an \
      error. If its code is poisoned, writing has failed: nothing can be committed until the server is started again, \
      and editable is false. If endsAtDamage is true, the journal has only the entries before the damage.
      """,
    returns: "Facts.",
    #"""
    {"id":"…","name":"Books.journal","revision":3,"firstDate":"2026-08-01T10:00:00.000000Z",
    "date":"2026-08-05T08:00:00.000000Z","digest":"…","items":3,"categories":1,"images":1,"editable":true,"author":"ana",
    "tags":[{"name":"proofread","revision":2,"date":"2026-08-05T08:00:00.000000Z","author":"bob",
    "note":"tagged revision 2 as proofread"}],
    "health":{"checkedRevision":3,"lastRevision":3,"endsAtDamage":false,"problem":null}}
    """#
  ) { api, _ in try api.journalFacts() }

  static let state = get(
    "/api/state", "Everything at a point in time, as replay --json prints it", [.at],
    returns: "The state, which may have any size. It is streamed while it is read.",
    #"""
    {"revision":2,"date":"2026-08-02T09:00:00.000000Z","digest":"…","categories":[],"items":[\#(Example.dune)],"images":[]}
    """#
  ) { try $0.wholeState($1) }

  static let items = get(
    "/api/items", "Searches, filters and sorts the items at a point in time, in pages",
    [
      .at,
      .text(
        "text",
        """
        A part of a label or of a text, ignoring case, or a name such as item:42. The texts are those of the attributes, \
        also inside arrays and objects, the kind of an item, and the name and the media type of an image.
        """),
      .text(
        "words",
        """
        Whole words in these texts, words that begin with WORD*, and "phrases", ignoring case, accents and width. All \
        must be there.
        """),
      .text("kind", "Only items of this kind."),
      .text("category", "Only items of this category: 3, category:3 or its name."),
      Parameter(
        name: "where",
        description: """
          Only items for which this condition holds: FIELD=VALUE, or with !=, <, <=, >, >= or ^= (begins with). \
          FIELD=null holds if the field is missing or null, FIELD!=null if it has a value. Texts are equal if their \
          UTF-8 bytes are. A date without a zone, such as 2026-08-01 10:00:00, is in UTC. May be repeated.
          """,
        form: .texts),
      .text(
        "sort",
        """
        Fields, separated by commas. A leading - sorts the largest values first. @modified, @created and @kind are \
        fields too.
        """),
      .offset, .limit(50, atMost: 500),
    ],
    returns: """
      A page. If the items are large, it has fewer than requested. The next request continues after the last one.
      """,
    #"""
    {"revision":2,"date":"2026-08-02T09:00:00.000000Z","total":1,"complete":true,"offset":0,"items":[\#(Example.dune)],
    "labels":{"item:1":"Dune"},"itemCount":3,"kinds":[{"kind":"book","count":2}],
    "categories":[{"id":1,"name":"Novels","color":"#2255AAFF","count":2}]}
    """#
  ) { try $0.items($1) }

  static let find = get(
    "/api/find", "Searches entities of any kind or, with deleted, deleted entities by their last content",
    [
      .at, .text("text", "As for items."), .text("words", "As for items."),
      .text("kind", "The kind of items, or category, image or tag."),
      .flag("deleted", "search only the entities that had been deleted by then."),
      .flag("ever", "search all past states of all entities up to that point, also of deleted ones."),
      .limit(50, atMost: 500),
    ],
    returns: """
      Lines as find --json prints them; with ever, as find --ever --json. more says whether there are others.
      """,
    #"{"revision":3,"found":[{"entity":"item:1","label":"Dune","kind":"book","revision":2}],"more":false}"#
  ) { try $0.find($1) }

  static let entity = get(
    "/api/entities/{entity}", "An entity at a point in time", [.entity, .at],
    returns: """
      The entity as show --json prints it. An item comes with its category and its images. If the category was erased, \
      it is {"id":1,"erased":true}. The ETag can be sent as If-Match with a commit.
      """,
    #"""
    {"revision":3,"date":"2026-08-05T08:00:00.000000Z","label":"Dune","entity":\#(Example.dune),
    "category":{"id":1,"name":"Novels","color":"#2255AAFF","created":1,"modified":1},"images":[]}
    """#
  ) { try $0.entity($1) }
}

extension JournalAPI {
  fileprivate func journalFacts() throws -> HTTPResponse {
    let version = journal.version
    let catalog = version.state
    let health = journal.health
    let refusal = refusal.withLock { $0 }
    let problem =
      health.damage ?? health.problems.first { $0.severity == .note }?.error
      ?? followingProblem ?? catalog.failure ?? refusal
    let healthJSON: JSONObject = [
      "checkedRevision": health.checkedRevision, "lastRevision": health.lastRevision,
      "endsAtDamage": journal.endsAtDamage,
      "problem": problem.map { APIError($0, hiding: journal.url.path).json },
    ]
    let (firstDate, tags) = try attributed(in: version)
    return .json([
      "name": journal.url.lastPathComponent, .members: try journal.counts(of: version, firstDate: firstDate),
      "editable": options.isEditable && refusal == nil, "author": options.author, "tags": tags,
      "health": healthJSON,
    ])
  }

  /// The date of the first entry, which may be large, and the newest tags with the entries that made them. The entries
  /// are read again only if there are other tags.
  private func attributed(in version: Version<Catalog>) throws -> (firstDate: Date?, tags: [JSONObject]) {
    let erasures = journal.erasureCount
    let first = try journal.firstRevision(through: version)
    let tags = version.state.tags.suffix(1000)
    let entries = [first] + tags.map { Optional($0.created) }
    let key = [first ?? 0] + tags.flatMap { [$0.id.number, $0.created] }
    let known = try attributions.value(of: key, asOf: erasures) {
      try entries.map { revision in
        try revision.flatMap { try journal.readableEntry(at: $0) }.map { Attribution($0) }
      }
    }
    return (known[0]?.date, zip(tags, known.dropFirst()).map { $0.json(made: $1) })
  }

  /// The error after which entries of other processes are no longer seen; nil while they are seen.
  private var followingProblem: JournalError? {
    do { _ = try journal.waitForEntry(after: journal.head.revision, atMost: .zero) } catch {
      return error as? JournalError
    }
    return journal.nodeFailure
  }

  private func version(_ parameters: Parameters) throws -> Version<Catalog> {
    try version(at: journal.revision(at: parameters.selector("at")))
  }

  func version(at revision: Revision) throws -> Version<Catalog> {
    let newest = journal.version
    if revision == newest.revision { return newest }
    let erasures = journal.erasureCount
    if let known = states.known(revision, asOf: erasures) { return known }
    return try replays.withLock { _ in
      try states.value(of: revision, asOf: erasures) { try journal.version(asOf: .revision(revision)) }
    }
  }

  fileprivate func wholeState(_ parameters: Parameters) throws -> HTTPResponse {
    var text = StateText(try version(parameters))
    return HTTPResponse(
      200, headers: [("Content-Type", "application/json"), ("Cache-Control", "no-store")],
      body: .stream(length: nil) { try text.next() })
  }

  fileprivate func items(_ parameters: Parameters) throws -> HTTPResponse {
    let erasures = journal.erasureCount
    let version = try version(parameters)
    let catalog = version.state
    var search = ItemSearch(parameters.query)
    if let category = parameters.text("category") {
      search.query.categories = catalog.categories(named: category)
      if search.query.categories?.isEmpty == true {
        throw APIError(404, "notFound", "there is no category \"\(category)\" at this point")
      }
    }
    for condition in parameters.request.values("where") {
      search.query.conditions.append(try EntityQuery.Condition(parsing: condition))
    }
    for order in (parameters.text("sort") ?? "").split(separator: ",") {
      try search.add(order: String(order))
    }
    let (offset, limit) = (try parameters.count("offset"), try parameters.count("limit"))
    let question = SearchQuestion(parameters.request, at: version.revision)
    let found = searches.value(of: question, asOf: erasures) {
      SearchInProgress(ItemScan(search, in: catalog))
    }
    let page = found.page(offset: offset, limit: limit)
    return .json { writer in
      writer.members([
        "revision": version.revision, "date": version.date.precise, "total": page.total,
        "complete": page.isComplete, "offset": offset,
      ])
      let items = page.items.lazy.compactMap { catalog.item($0) }
      let shown = writer.list("items", of: items) { $0.json(in: catalog) }
      let labels = items.prefix(shown).map { ("item:\($0.id)", Catalog.label(of: $0.record, of: .item)) }
      writer.members(["labels": JSONObject(labels), .members: groups(of: catalog)])
    }
  }

  /// The kinds and categories of items. The items of each are counted only if the catalog has at most 2,000 items, because
  /// counting reads a line of an index for each item.
  private func groups(of catalog: Catalog) -> JSONObject {
    let isCounted = catalog.itemCount <= 2_000
    let all = catalog.kinds
    let kinds = all.prefix(200).map { kind -> JSONObject in
      let isOnly = all.count == 1
      let count = isCounted && !isOnly ? catalog.items(ofKind: kind).count : nil
      return ["kind": kind, "count": ifAny(isOnly ? catalog.itemCount : count)]
    }
    let categories = catalog.categories.prefix(200).map { category -> JSONObject in
      [
        "id": category.id.number, "name": category.name, "color": category.color?.hex,
        "count": ifAny(isCounted ? catalog.items(in: category.id).count : nil),
      ]
    }
    return ["itemCount": catalog.itemCount, "kinds": kinds, "categories": categories]
  }

  fileprivate func find(_ parameters: Parameters) throws -> HTTPResponse {
    let revision = try journal.revision(at: parameters.selector("at"))
    let limit = try parameters.count("limit")
    var found: [FoundEntity] = []
    func add(_ entity: FoundEntity) -> Bool {
      found.append(entity)
      return found.count <= limit
    }
    if try parameters.flag("ever") {
      guard everTurn.wait(timeout: .now() + 2) == .success else { throw APIError.busy }
      defer { everTurn.signal() }
      try journal.findEver(parameters.query, asOf: .revision(revision), add)
    } else {
      try journal.find(
        parameters.query, asOf: .revision(revision), deleted: parameters.flag("deleted"), add)
    }
    let catalog = try journal.state(asOf: .revision(revision))
    return .json { writer in
      writer.member("revision", revision)
      let shown = writer.list("found", of: found.prefix(limit)) { $0.json(in: catalog) }
      writer.member("more", found.count > shown)
    }
  }

  fileprivate func entity(_ parameters: Parameters) throws -> HTTPResponse {
    let version = try version(parameters)
    let name = parameters.step("entity")
    let entity = try Catalog.entity(named: name)
    let catalog = version.state
    guard let record = catalog.record(of: entity) else {
      throw try journal.absence(of: entity, at: version.revision, namingErasure: false)
    }
    let item = entity.kind == .item ? catalog.item(EntityID(entity.number)) : nil
    let category = item?.category.map { category -> JSONObject in
      // An item keeps its reference to a category that was erased.
      catalog.category(category)?.json ?? ["id": category.number, "erased": true]
    }
    var response = HTTPResponse.json([
      "revision": version.revision, "date": version.date.precise,
      "label": Catalog.label(of: record, of: entity.kind), "entity": catalog.json(of: entity),
      "category": ifAny(category),
      "images": ifAny(item.map { catalog.images(of: $0.id).prefix(500).map(\.json) }),
    ])
    response.headers.append(("ETag", "\"\(name)@\(catalog.revision(of: entity))\""))
    return response
  }
}

extension Parameters {
  /// What the parameters `text`, `words` and `kind` ask for.
  fileprivate var query: EntityQuery {
    EntityQuery(text: text("text"), words: text("words"), kind: text("kind"))
  }
}
