import CatalogModel
import Foundation
import HTTPServer
import JSON
import Locks
import SHA256

// Routes that change the journal, with at most one entry for each request.

extension Route {
  static let commits = post(
    "/api/commits", "Commits an entry",
    details: """
      Events have the form that log --json prints. An added entity has no number yet, so its entity is only its kind (by \
      default item). With `as`, it gets a name, which later events of the same commit can use as entity, item or \
      category. The same name can't be in attributes and in removed. date is when it happened, kept as the entry's \
      clockDate; entries are ordered by a date that never decreases. previous of an update or a delete is the revision \
      that must have changed the entity last; without it, or with null, any may have. If-Match names the versions that the client has \
      seen: ETags such as "item:42@17", or "journal@120" for the newest entry of the journal. If one of them or a \
      previous is outdated, the response is 409 with the newest of the later changes, and nothing is written. A commit \
      that changes nothing responds with 200 and makes no entry.
      """,
    [.header("If-Match", "The versions that must still be current, as ETags.")],
    body: .json(
      #"""
      {"author":"eve","note":"new arrivals","metadata":{"device":"curl"},"events":[
      {"operation":"add","entity":"category","as":"poems","changes":{"name":"Poems"}},
      {"operation":"add","changes":{"kind":"book","category":"poems","attributes":{"title":"Solaris"}}},
      {"operation":"update","entity":"item:1","changes":{"attributes":{"stars":4},"removed":["lent"]}}]}
      """#),
    #"""
    {"revision":4,"date":"2026-08-02T09:00:00.000000Z","author":"eve","note":"new arrivals","metadata":{},"digest":"…",
    "events":[]}
    """#,
    .change(always: true) { try $0.commit($1, $2) })

  static let blobs = post(
    "/api/blobs", "Stores the bytes of an image",
    details: "The bytes belong to no item until a commit adds an image with their sha256 and byteCount.",
    body: Content(mediaType: "application/octet-stream", example: #""(bytes)""#),
    #"{"sha256":"…","byteCount":8}"#, .upload)

  static let restore = plan(
    "/api/restore", "Restores entities, a kind, a category or everything as of a point in time",
    details: """
      Send exactly one of entities, kind, category (a number) and all. With fields, only these fields are restored; a \
      field that nothing has, now or at that point, is not found, and neither is a kind. keepNew keeps entities and \
      fields that were added since. An entity that is named and did not exist then is a conflict, and so is everything \
      if nothing existed; later: keep is as keepNew, and later: override deletes these.
      """,
    body: #"{"entities":["item:1"],"fields":["title"],"at":"r1"}"#
  ) { try $0.restore($1, $2) }

  static let revert = plan(
    "/api/revert", "Undoes exactly one entry",
    details: """
      An entry that changed nothing that can be reverted, for example because it only made a tag, is refused with 400. \
      later says how to treat later edits of the same fields: refuse, keep or override.
      """,
    body: #"{"revision":2,"later":"keep"}"#
  ) { try $0.revert($1, $2) }

  static let undo = plan(
    "/api/undo", "Undoes the newest entry of an author that is not yet undone",
    details: """
      Entries of the author with the same metadata journal.group, and none of the author's without it in between, are \
      undone together. The default author is that of the server. later is as for revert; with keep, entries of which \
      nothing is left to undo are skipped.
      """,
    body: #"{"author":"bob"}"#
  ) { try $0.undo($1, $2, isRedo: false) }

  static let redo = plan(
    "/api/redo", "Redoes what an author undid last", details: "As for undo.", body: #"{"author":"bob"}"#
  ) { try $0.undo($1, $2, isRedo: true) }

  /// A route that previews or carries out a plan.
  private static func plan(
    _ path: String, _ summary: String, details: String, body: String,
    _ handle: @escaping @Sendable (JournalAPI, FieldValue, HTTPRequest) throws -> HTTPResponse
  ) -> Route {
    post(
      path, summary,
      details: details + """
         With dryRun, the response only shows what would change, and the server need not be editable. If there are \
        conflicts, changes are those of later: override. If plan is that of such a response, the request is refused \
        with 409 unless it would do exactly the same.
        """,
      [
        .header(
          "If-Match", "The versions that must still be current, as for a commit. A preview ignores them.")
      ],
      body: .json(body),
      #"""
      {"revision":4,"dryRun":false,
      "changes":[{"entity":"item:1","operation":"update","changes":{"title":{"old":"Dune","new":"Dun"}}}],
      "undoes":[{"revision":2,\#(Example.spelling),"entity":"item:1","fields":["title"]}],"conflicts":[],
      "note":"restored item:1 as of revision 1","basis":3,"plan":"…","labels":{"item:1":"Dun"}}
      """#,
      .change(always: false, handle))
  }
}

extension JournalAPI {
  /// The reader of the body of a POST request.
  func body(_ request: HTTPRequest) throws -> HTTPBodyReader {
    if let encoding = request.headers["content-encoding"], encoding.lowercased() != "identity" {
      throw APIError(415, "wrongUse", "send the body as it is, without Content-Encoding: \(encoding)")
    }
    guard case .change(let isAlways, let work) = try Route.of(request).route.work else {
      try checkIsEditable()
      try check(request.contentLength, within: options.imageByteLimit)
      // An interrupted upload leaves no file.
      let writer = try journal.blobs.writer()
      return HTTPBodyReader(byteLimit: options.imageByteLimit) { piece in
        try unsafe piece.withUnsafeBytes { try unsafe writer.write($0) }
      } respond: { [self] received in
        finished(request) {
          try received.get()
          let blob = try writer.finish()
          return .json(["sha256": blob.digest.hex, "byteCount": blob.byteCount], status: 201)
        }
      }
    }
    // A preview writes nothing, so a read-only server allows it.
    if isAlways { try checkIsEditable() }
    guard request.headers["content-type"]?.lowercased().hasPrefix("application/json") == true else {
      throw APIError(415, "wrongUse", "send JSON, with Content-Type: application/json")
    }
    try check(request.contentLength, within: Self.bodyByteLimit)
    var bytes: [UInt8] = []
    return HTTPBodyReader(byteLimit: Self.bodyByteLimit) {
      bytes += $0
    } respond: { [self] _ in
      finished(request) {
        let value: FieldValue
        do throws(JSONError) {
          value = try FieldValue(json: bytes, decodingWrappers: true, exactly: true)
        } catch {
          throw APIError.wrongUse("the body can't be read: \(error)")
        }
        return try work(self, value, request)
      }
    }
  }

  /// The maximum bytes of a JSON body: the limit of a record, because a larger item could not be committed.
  private static let bodyByteLimit = 16 << 20

  private func check(_ byteCount: Int?, within limit: Int) throws(APIError) {
    if let byteCount, byteCount > limit {
      throw APIError(413, "tooLarge", "the body may have at most \(limit) bytes")
    }
  }

  private func finished(_ request: HTTPRequest, _ work: () throws -> HTTPResponse) -> HTTPResponse {
    do { return secured(try work()) } catch { return refused(error, request) }
  }

  private func checkIsEditable() throws(APIError) {
    guard options.isEditable else {
      throw APIError(
        403, "readOnly", "this server only shows the journal; start it with --edit to change something")
    }
  }

  // MARK: Commits

  fileprivate func commit(_ value: FieldValue, _ request: HTTPRequest) throws -> HTTPResponse {
    let document = try CommitDocument(value)
    var expected = try Expectations(request.headers["if-match"])
    for (entity, revision) in document.expectations { expected.expect(entity, at: revision) }
    let commit = try committing(expected) { expectations in
      try journal.commit(
        by: document.author ?? options.author, note: document.note ?? "", metadata: document.metadata,
        date: document.date, expecting: expectations
      ) { try document.apply(to: &$0) }
    }
    if commit.isEmpty { return .json(["revision": commit.revision, "empty": true]) }
    return .json(try journal.entry(at: commit.revision).json, status: 201)
  }

  /// Runs a commit. Adds details to a conflict, and remembers an error after which no more commits are possible.
  private func committing(
    _ expected: Expectations, _ body: ([Expectation]) throws -> Commit<Void>
  ) throws -> Commit<Void> {
    do {
      return try body(expected.all)
    } catch let error as JournalError where error.code == .conflict {
      throw try conflict(error, expected)
    } catch let error as JournalError where error.endsCommits {
      // Only the first error is kept, because later errors have the same cause.
      refusal.withLock { refusal in
        if refusal == nil { refusal = JournalError(.poisoned, error.message, cause: error.cause) }
      }
      throw error
    }
  }

  /// The error with the changes since the versions that the client expected, of at most 100 entities.
  private func conflict(_ conflict: JournalError, _ expected: Expectations) throws -> APIError {
    var error = APIError(conflict, hiding: journal.url.path)
    let state = journal.state
    let outdated = expected.entities.filter { state.revision(of: $0.key) > $0.value }
      .sorted { $0.key < $1.key }.prefix(100)
    let since = try outdated.map { entity, revision in
      try journal.history(of: entity, asOf: .head(), limit: 100, byteLimit: JSONWriter.listByteLimit)
        .prefix { $0.revision > revision }
    }.flatMap { $0 }.sorted { $0.revision > $1.revision }
    error.details = { writer in writer.list("since", of: since, \.json) }
    return error
  }

  // MARK: Restoring

  fileprivate func restore(_ value: FieldValue, _ request: HTTPRequest) throws -> HTTPResponse {
    let body = try Members(
      value, of: "the body",
      allowing: ["entities", "kind", "category", "all", "at", "fields", "keepNew", "later"] + Members.ofPlans)
    guard let at = try body.string("at") else { throw APIError.wrongUse("at is missing: a point in time") }
    let point = RevisionSelector.revision(try journal.revision(at: RevisionSelector(at)))
    let names = try body.array("entities").map { try Catalog.entity(named: Members.string($0, "entities")) }
    var targets: [RestoreTarget] = names.isEmpty ? [] : [.entities(names)]
    if let kind = try body.string("kind") { targets.append(.kind(kind)) }
    if let category = try body.integer("category") { targets.append(.categories([CategoryID(category)])) }
    if try body.flag("all") { targets.append(.everything) }
    guard targets.count == 1 else {
      throw APIError.wrongUse("name what to restore, with exactly one of entities, kind, category and all")
    }
    let later = try later(body)
    let plan = try journal.planRestore(
      of: targets[0], parts(body), asOf: point, keepsNew: body.flag("keepNew") || later == .keep,
      deletesNew: later == .override)
    return try carryOut(plan, body, request)
  }

  private func parts(_ body: Members) throws -> NamedParts? {
    guard body.has("fields") else { return nil }
    let names = try body.array("fields").map { try Members.string($0, "fields") }
    guard !names.isEmpty else { throw APIError.wrongUse("fields names no attribute") }
    return try NamedParts(names)
  }

  fileprivate func revert(_ value: FieldValue, _ request: HTTPRequest) throws -> HTTPResponse {
    let body = try Members(value, of: "the body", allowing: ["revision", "later"] + Members.ofPlans)
    guard let revision = try body.integer("revision"), revision > 0 else {
      throw APIError.wrongUse("revision is missing: the entry to revert")
    }
    return try carryOut(try journal.planRevert(of: revision, later: try later(body)), body, request)
  }

  private func later(_ body: Members) throws -> LaterEdits {
    switch try body.string("later") ?? "refuse" {
    case "refuse": return .refuse
    case "keep": return .keep
    case "override": return .override
    default: throw APIError.wrongUse("later is refuse, keep or override")
    }
  }

  fileprivate func undo(_ value: FieldValue, _ request: HTTPRequest, isRedo: Bool) throws -> HTTPResponse {
    let body = try Members(value, of: "the body", allowing: ["later"] + Members.ofPlans)
    let author = try body.string("author") ?? options.author
    let later = try later(body)
    let plan =
      isRedo ? try journal.planRedo(by: author, later: later) : try journal.planUndo(by: author, later: later)
    guard let plan else {
      throw APIError(
        404, "notFound",
        "there is nothing for \(author.isEmpty ? "the empty author" : author) to \(isRedo ? "redo" : "undo")")
    }
    return try carryOut(plan, body, request)
  }

  /// Commits the plan, unless the request is a dry run, or the plan has conflicts or differs from the plan that was
  /// previewed.
  private func carryOut(_ plan: RestorePlan, _ body: Members, _ request: HTTPRequest) throws -> HTTPResponse {
    let expected = try Expectations(request.headers["if-match"])
    let isDryRun = try body.flag("dryRun")
    let digest = plan.digest
    func response(_ status: Int, _ revision: Revision?, _ error: APIError? = nil) -> HTTPResponse {
      .json(
        [
          .members: plan.json(revision: revision, isDryRun: isDryRun), "note": plan.note, "basis": plan.basis,
          "plan": digest, "labels": labels(of: plan.changes), "error": ifAny(error?.json),
        ], status: status)
    }
    if isDryRun { return response(200, nil) }
    try checkIsEditable()
    var refusal: String?
    if let shown = try body.string("plan"), shown != digest {
      refusal = "the journal has changed since the preview, so this is not what was shown"
    } else if !plan.conflicts.isEmpty {
      refusal =
        if case .restore = plan.action {
          "it would delete what did not exist then; later: keep keeps what was added since, also fields, and later: override "
            + "deletes it"
        } else {
          "later edits changed the same fields; later: keep keeps them and does the rest, later: override undoes them too"
        }
    }
    if let refusal { return response(409, nil, APIError(409, "conflict", refusal)) }
    if plan.isEmpty, expected.all.isEmpty { return response(200, nil) }
    let commit = try committing(expected) { expectations in
      try journal.commit(
        plan, by: body.string("author") ?? options.author, note: try body.string("note"),
        expecting: expectations)
    }
    return commit.isEmpty ? response(200, nil) : response(201, commit.revision)
  }
}

extension RestorePlan {
  /// The digest of the changes, by which a request names the plan that was previewed.
  fileprivate var digest: String {
    var writer = JSONWriter()
    writer.value(changes.map { Catalog.json(of: $0) })
    return SHA256Hash.digest(writer.bytes).hex
  }
}
