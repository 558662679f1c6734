import CatalogModel
import Dispatch
import Foundation
import HTTPServer
import JSON
import Locks
import ViewerPage

/// Handles requests about one journal. `openapi.json` describes them.
///
/// Safe to use from any thread.
final class JournalAPI: HTTPHandler {
  let journal: CatalogJournal
  let options: JournalServer.Options
  let access: Access
  let states: StateCache
  let answers = AnswerCache()
  let timeline: Timeline
  let feed: EntryFeed
  let images: ImageCheck
  /// Limits the requests in progress; more of them would only take memory.
  private let turns = DispatchSemaphore(value: 8)

  init(_ journal: CatalogJournal, _ options: JournalServer.Options) throws(JournalError) {
    self.journal = journal
    self.options = options
    access = Access(options)
    states = StateCache(journal)
    images = ImageCheck(journal.blobs)
    let timeline = Timeline(journal)
    self.timeline = timeline
    feed = EntryFeed(journal)
    try feed.start { timeline.catchUp() }
    timeline.catchUp()
  }

  func end() {
    feed.end()
    timeline.end()
  }

  func receive(_ request: HTTPRequest) -> HTTPReception {
    let isPage = !request.path.hasPrefix("/api/")
    do {
      if let refusal = access.refusal(of: request) { throw refusal }
      guard ["GET", "HEAD", "POST"].contains(request.method) else {
        var error = APIError(405, "wrongMethod", "\(request.method) is not used here")
        error.headers.append(("Allow", "GET, HEAD, POST"))
        throw error
      }
      if isPage { return .answer(secured(try page(request), isPage: true)) }
      if request.path == "/api/session", request.method == "POST" {
        return .answer(secured(try openSession(request)))
      }
      if let refusal = access.refusalWithoutSession(request) { throw refusal }
      if request.method == "POST" { return .read(try body(request)) }
      return .answer(secured(try inTurn { try answer(request) }))
    } catch {
      return .answer(refused(error, request))
    }
  }

  /// The response for an error, as a page or as JSON.
  func refused(_ error: any Error, _ request: HTTPRequest) -> HTTPResponse {
    let error = APIError(error, hiding: journal.url.path)
    let wantsPage =
      !request.path.hasPrefix("/api/") && request.headers["accept"]?.contains("text/html") == true
    return wantsPage
      ? secured(Self.page(error), isPage: true) : secured(error.response)
  }

  /// Handles a request when not too many others are in progress.
  private func inTurn(_ body: () throws -> HTTPResponse) throws -> HTTPResponse {
    guard turns.wait(timeout: .now() + 20) == .success else {
      var error = APIError(503, "busy", "the server has too much to do; try again")
      error.headers.append(("Retry-After", "2"))
      throw error
    }
    defer { turns.signal() }
    return try body()
  }

  // MARK: What is read

  private func answer(_ request: HTTPRequest) throws -> HTTPResponse {
    let steps = request.path.split(separator: "/", omittingEmptySubsequences: false).dropFirst(2).map(
      String.init)
    switch (steps.first ?? "", steps.count) {
    case ("journal", 1): return try journalFacts(request)
    case ("state", 1): return try wholeState(request)
    case ("items", 1): return try items(request)
    case ("find", 1): return try find(request)
    case ("entities", 2): return try entity(request, steps[1])
    case ("entities", 3) where steps[2] == "history": return try history(request, steps[1])
    case ("entities", 3) where steps[2] == "blame": return try blame(request, steps[1])
    case ("images", 3) where steps[2] == "content": return try imageContent(request, steps[1])
    case ("entries", 1): return try entries(request)
    case ("entries", 2): return try entry(request, steps[1])
    case ("diff", 1): return try diff(request)
    case ("timeline", 1): return try timeline(request)
    case ("events", 1): return try events(request)
    case ("openapi.json", 1):
      return HTTPResponse(
        200, headers: [("Content-Type", "application/json")], body: .bytes(ViewerPage.openAPI))
    default: throw Self.unknown(request)
    }
  }

  static func unknown(_ request: HTTPRequest) -> APIError {
    APIError(404, "notFound", "there is nothing of that name; /api/openapi.json says what there is")
  }

  // MARK: Sessions and pages

  private func openSession(_ request: HTTPRequest) throws -> HTTPResponse {
    guard let parts = request.headers["authorization"]?.split(separator: " ", maxSplits: 1), parts.count == 2,
      parts[0].lowercased() == "bearer", let session = access.session(for: String(parts[1]))
    else {
      throw APIError(
        401, "unauthorized", "the token is none, or was used already; start the server anew for another")
    }
    var response = HTTPResponse.json(201) { writer in
      writer.beginObject()
      writer.member("token", session)
      writer.endObject()
    }
    response.headers.append(access.cookie(session))
    return response
  }

  private func page(_ request: HTTPRequest) throws -> HTTPResponse {
    guard request.method != "POST" else { throw APIError(405, "wrongMethod", "a page is not posted to") }
    if let asset = ViewerPage.asset(request.path) {
      return HTTPResponse(
        200, headers: [("Content-Type", asset.mediaType), ("Cache-Control", "no-cache")],
        body: .bytes(asset.bytes))
    }
    guard ViewerPage.isView(request.path) else { throw APIError(404, "notFound", "there is no such page") }
    var headers = [("Content-Type", "text/html; charset=utf-8"), ("Cache-Control", "no-store")]
    if !access.hasCookie(request) {
      guard let token = request.value("token") else {
        throw APIError(401, "unauthorized", "Open the address that journal view has printed: it has a token.")
      }
      guard let session = access.session(for: token) else {
        throw APIError(
          401, "unauthorized",
          "This address was used already: each opens the journal once. Run journal view again.")
      }
      headers.append(access.cookie(session))
    }
    return HTTPResponse(200, headers: headers, body: .bytes(ViewerPage.index))
  }

  /// A page for a person without access.
  private static func page(_ error: APIError) -> HTTPResponse {
    let text = error.message.replacing("&", with: "&amp;").replacing("<", with: "&lt;")
    return HTTPResponse(
      error.status,
      headers: [("Content-Type", "text/html; charset=utf-8"), ("Cache-Control", "no-store")] + error.headers,
      body: .bytes(
        Array(
          """
          <!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
          <title>Journal</title><link rel="stylesheet" href="/assets/style.css">
          <main class="alone"><h1>Journal</h1><p>\(text)</p></main></html>
          """.utf8)))
  }

  /// Adds the headers that forbid browsers to run, frame or share a response.
  func secured(_ response: HTTPResponse, isPage: Bool = false) -> HTTPResponse {
    var response = response
    if !response.headers.contains(where: { $0.name == "Content-Security-Policy" }) {
      response.headers.append(
        (
          "Content-Security-Policy",
          isPage
            ? "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
              + "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
            : "default-src 'none'; frame-ancestors 'none'"
        ))
    }
    response.headers += [
      ("X-Content-Type-Options", "nosniff"), ("X-Frame-Options", "DENY"), ("Referrer-Policy", "no-referrer"),
      ("Cross-Origin-Resource-Policy", "same-origin"), ("Cross-Origin-Opener-Policy", "same-origin"),
    ]
    return response
  }
}
