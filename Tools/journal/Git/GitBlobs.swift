import SHA256

/// Reads contents of files from one running `git cat-file --batch`, in the order of the requests.
///
/// Requests are sent ahead, so that git never waits. Unanswered requests never exceed 4,096 bytes, which every pipe
/// holds, so writing a request never blocks, and there is no deadlock.
final class GitBlobs {
  private static let pipeSize = 4096
  private let repository: GitRepository
  private let process: ChildProcess
  /// The hashes of the requested contents. The first `sent` of them were sent to git.
  private var questions: [String] = []
  private var answered = 0
  private var sent = 0

  init(_ repository: GitRepository) throws {
    self.repository = repository
    process = try repository.start(["cat-file", "--batch"])
  }

  /// Requests a content. All contents must be read, in the order of their requests.
  func ask(for hash: String) throws {
    questions.append(hash)
    try send()
  }

  private func send() throws {
    guard sent < questions.count else { return }
    let room = Self.pipeSize / (questions[sent].utf8.count + 1) - (sent - answered)
    let next = questions[sent...].prefix(max(0, room))
    if next.isEmpty { return }
    sent += next.count
    try process.write(Array(next.map { $0 + "\n" }.joined().utf8))
  }

  /// Reads the next requested content: calls `start` with the number of bytes, and `body` with pieces of at most 64
  /// KiB.
  func read(_ start: (Int) throws -> Void = { _ in }, _ body: (ArraySlice<UInt8>) throws -> Void) throws {
    let hash = questions[answered]
    // Git answers with "9e21128d… blob 123", a line break, the bytes, and a line break.
    guard let header = try process.read(upTo: UInt8(ascii: "\n")) else { throw broken(hash) }
    let words = header.split(separator: UInt8(ascii: " "))
    guard words.count == 3, let count = Int(String(decoding: words[2], as: UTF8.self)) else {
      throw broken(hash)
    }
    try start(count)
    guard try process.read(count: count, body), try process.read(count: 1, { _ in }) else {
      throw broken(hash)
    }
    answered += 1
    if answered >= 1024 {
      questions.removeFirst(answered)
      sent -= answered
      answered = 0
    }
    try send()
  }

  private func broken(_ hash: String) -> Failure {
    let reason = process.errorText
    return Failure.unreadable(
      "git has no content \(hash) in \(repository.path); git fsck there may tell more, "
        + "and a partial clone must be cloned again without --filter"
        + (reason.isEmpty ? "" : ": \(reason)"))
  }
}

/// Reads contents of earlier versions, one at a time.
final class PastContents {
  private let repository: GitRepository
  private var contents: GitBlobs?

  init(_ repository: GitRepository) { self.repository = repository }

  func read(_ hash: String) throws -> (text: String?, digest: ContentDigest) {
    let contents = try contents ?? GitBlobs(repository)
    self.contents = contents
    try contents.ask(for: hash)
    var bytes: [UInt8] = []
    var digest = SHA256Hash()
    try contents.read { piece in
      digest.update(Array(piece))
      // One byte over the limit is kept, which shows that the content is too long for a text.
      bytes += piece.prefix(FileContent.textByteLimit + 1 - bytes.count)
    }
    return (FileContent.text(of: bytes), digest.finish())
  }
}
