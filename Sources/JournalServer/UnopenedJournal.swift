import CatalogModel
import Foundation
import HTTPServer

/// Handles requests for a journal that can't be opened: the page says why, and each request of the API gets the error.
///
/// Safe to use from any thread.
final class UnopenedJournal: HTTPHandler {
  let gate: Gate
  private let error: JournalError
  private let path: String

  init(_ error: JournalError, at url: URL, _ options: JournalServer.Options) throws(JournalError) {
    gate = try Gate(options, hiding: url)
    self.error = error
    path = url.path
  }

  func receive(_ request: HTTPRequest) -> HTTPReception {
    gate.receive(request) { _ in
      var error = APIError(error, hiding: path)
      error.status = 503
      throw error
    }
  }

  var answerToInvalidText: HTTPResponse { gate.answerToInvalidText }
}
