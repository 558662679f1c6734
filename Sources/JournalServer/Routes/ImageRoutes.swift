import CatalogModel
import HTTPServer
import JSON
import Locks

// The bytes of images. Browsers must not run anything in them: the response has the media type of a known
// picture or a generic one, forbids sniffing, and sandboxes the content in an opaque origin.

/// Opens blobs. Checks the digest of a blob when it is first opened. Safe to use from any thread.
final class ImageCheck: Sendable {
  private static let mostKept = 100_000
  private let blobs: BlobStore
  private let checked = Lock<Set<Blob>>([])

  init(_ blobs: BlobStore) { self.blobs = blobs }

  func reader(of blob: Blob) throws -> BlobReader {
    let isKnown = checked.withLock { $0.contains(blob) }
    let reader = try blobs.reader(of: blob, isChecked: isKnown)
    if !isKnown {
      checked.withLock { checked in
        if checked.count >= Self.mostKept { checked.removeAll() }
        checked.insert(blob)
      }
    }
    return reader
  }
}

extension Route {
  static let image = get(
    "/api/images/{number}/content", "The bytes of an image at a point in time",
    details: """
      The ETag is the SHA-256 of the bytes. If-None-Match, Range and If-Range are supported. The bytes are compared with \
      that digest before they are first sent.
      """,
    [.path("number", "The image's number: 7 for image:7.", .integer), .at],
    answers: [
      Answer(status: 200, description: "The bytes.", content: Content(mediaType: "*/*", type: nil)),
      Answer(status: 206, description: "The requested range."),
      Answer(status: 304, description: "The client has the current bytes."),
      Answer(status: 416, description: "The range is outside the image."),
    ]
  ) { try $0.imageContent($1) }
}

extension JournalAPI {
  private static let pictures: Set<String> = [
    "image/png", "image/jpeg", "image/gif", "image/webp", "image/avif", "image/bmp", "image/svg+xml",
  ]

  fileprivate func imageContent(_ parameters: Parameters) throws -> HTTPResponse {
    guard let number = Int(parameters.step("number")), number > 0 else {
      throw APIError.wrongUse("the path needs the number of an image")
    }
    let request = parameters.request
    let revision = try journal.revision(at: parameters.selector("at"))
    let entity = EntityKey.image(number)
    // The record is read from the image's history, because replaying a whole state would take longer.
    guard let record = try journal.entity(entity, asOf: .revision(revision))?.record,
      let blob = Catalog.blobs(in: record, of: .image).first
    else { throw try journal.absence(of: entity, at: revision, namingErasure: false) }
    let mediaType = Catalog.mediaType(of: record).lowercased()
    let isPicture = Self.pictures.contains(mediaType)
    let tag = "\"\(blob.digest.hex)\""
    // At a fixed revision, an image never changes.
    let isFixed = ["\(revision)", "r\(revision)"].contains(parameters.text("at"))
    var headers: [(name: String, value: String)] = [
      ("ETag", tag), ("Accept-Ranges", "bytes"),
      ("Content-Type", isPicture ? mediaType : "application/octet-stream"),
      (
        "Content-Security-Policy",
        "default-src 'none'; style-src 'unsafe-inline'; sandbox; frame-ancestors 'none'"
      ),
      ("Cache-Control", isFixed ? "private, max-age=31536000, immutable" : "private, no-cache"),
    ]
    if !isPicture { headers.append(("Content-Disposition", "attachment")) }
    let known = request.headers["if-none-match"]?.split(separator: ",").map { $0.trimmingSpaces }
    if known?.contains(where: { $0 == tag || $0 == "W/" + tag || $0 == "*" }) == true {
      return HTTPResponse(304, headers: headers)
    }
    var range = 0..<blob.byteCount
    var status = 200
    if let wanted = request.headers["range"], request.headers["if-range"].map({ $0 == tag }) ?? true {
      switch ByteRange(wanted, count: blob.byteCount) {
      case .part(let part):
        range = part
        status = 206
        headers.append(("Content-Range", "bytes \(part.lowerBound)-\(part.upperBound - 1)/\(blob.byteCount)"))
      case .outside:
        var error = APIError(416, "wrongRange", "the image has \(blob.byteCount) bytes")
        error.headers.append(("Content-Range", "bytes */\(blob.byteCount)"))
        throw error
      case .everything: break
      }
    }
    let reader = try images.reader(of: blob)
    return HTTPResponse(
      status, headers: headers,
      body: .stream(length: range.count) {
        if range.isEmpty { return nil }
        let piece = try reader.piece(at: range.lowerBound, byteCount: min(64 << 10, range.count))
        guard !piece.isEmpty else { throw APIError(500, "io", "the image has become shorter") }
        range = range.lowerBound + piece.count..<range.upperBound
        return piece
      })
  }
}

enum ByteRange: Equatable {
  case part(Range<Int>)
  case outside
  /// The whole image: a server may ignore a header that requests several parts or another unit.
  case everything

  init(_ header: String, count: Int) {
    guard let match = header.wholeMatch(of: /bytes=([0-9]*)-([0-9]*)/) else {
      self = .everything
      return
    }
    switch (Int(match.1), Int(match.2)) {
    case (let first?, let last?) where last < first: self = .everything
    case (let first?, let last):
      self = first < count ? .part(first..<min(last ?? count - 1, count - 1) + 1) : .outside
    case (nil, let length?) where match.1.isEmpty:
      self = length > 0 && count > 0 ? .part(max(0, count - length)..<count) : .outside
    default: self = .everything
    }
  }
}

extension Substring {
  fileprivate var trimmingSpaces: Substring { drop { $0 == " " }.prefix { $0 != " " } }
}
