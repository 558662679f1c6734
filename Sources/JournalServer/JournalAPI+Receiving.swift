import CatalogModel
import Foundation
import HTTPServer
import JSON

// Access control, sessions, the page's files and errors.
extension JournalAPI {
  func receive(_ request: HTTPRequest) -> HTTPReception {
    do {
      if let refusal = access.refusal(of: request) { throw refusal }
      guard ["GET", "HEAD", "POST"].contains(request.method) else {
        var error = APIError(405, "wrongMethod", "\(request.method) is not used here")
        error.headers.append(("Allow", "GET, HEAD, POST"))
        throw error
      }
      guard request.path.hasPrefix("/api/") else {
        return .answer(secured(try page(request), isPage: true))
      }
      if request.path == "/api/session", request.method == "POST" {
        return .answer(secured(try openSession(request)))
      }
      if let refusal = access.refusalWithoutSession(request) { throw refusal }
      return request.method == "POST" ? .read(try body(request)) : .answer(secured(try answer(request)))
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

  /// The response to a request that can't be parsed.
  var answerToInvalidText: HTTPResponse {
    secured(
      APIError.wrongUse(
        "the request is not valid UTF-8, its percent escapes are not, or its body has two lengths"
      ).response)
  }

  private func openSession(_ request: HTTPRequest) throws -> HTTPResponse {
    guard let parts = request.headers["authorization"]?.split(separator: " ", maxSplits: 1), parts.count == 2,
      parts[0].lowercased() == "bearer", let session = access.session(for: String(parts[1]))
    else {
      throw APIError(
        401, "unauthorized", "the token is invalid or was used already; restart the server for another one")
    }
    var response = HTTPResponse.json(["token": session], status: 201)
    response.headers.append(access.cookie(session))
    return response
  }

  private func page(_ request: HTTPRequest) throws -> HTTPResponse {
    guard request.method != "POST" else { throw APIError(405, "wrongMethod", "a page does not accept POST") }
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
          "This address was used already: an address opens the journal only once. Run journal view again.")
      }
      headers.append(access.cookie(session))
    }
    return HTTPResponse(200, headers: headers, body: .bytes(ViewerPage.index))
  }

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

  /// Adds the headers that keep browsers from running, framing or sharing a response.
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
