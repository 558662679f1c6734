import Files
import Foundation
import JournalMaintenance
import Journaling
import LogbookModel

/// Forks while a journal is open for writing and followed. The child has neither its threads nor its locks: it must not
/// commit, and closing must not change anything for the parent. Exits with 0 if that is so.
enum ForkedJournal {
  static func run(_ url: URL) throws {
    var journal: Journal<Logbook>? = try Journal.create(at: url, options: JournalOptions(layers: .manual))
    var follower: Journal<Logbook>? = try Journal.open(at: url, mode: .follow)
    for number in 1...20 { try journal?.commit { try $0.write(number, "before") } }
    let writer = try journal?.blobs.writer()
    try writer?.write(Data("half of an image".utf8))
    let files = try contents(of: url)

    let child = fork()
    if child == 0 {
      expectWrongUse("commit") { try journal?.commit { try $0.write(1, "child") } }
      expectWrongUse("pipeline") { try journal?.withPipeline { try $0.commit { try $0.write(1, "child") } } }
      expectWrongUse("snapshot") { try journal?.takeSnapshot() }
      check(journal?.state.problems().isEmpty == true, "the child can't read")
      do {
        try journal?.close()
        try follower?.close()
      } catch { stop("closing: \(error)") }
      (journal, follower) = (nil, nil)
      do {
        _ = try Journal<Logbook>.open(at: url)
        stop("the child has opened it for writing")
      } catch {
        check((error as? JournalError)?.code == .locked, "opening: \(error)")
      }
      _exit(0)
    }
    var status: Int32 = 0
    guard child > 0, unsafe waitpid(child, &status, 0) == child, status == 0 else {
      fail("the child ended with \(status)")
    }
    guard try contents(of: url) == files else { fail("the child has changed files") }
    guard let own = try? Folder<JournalError>(url.path, followsLinks: false, hook: nil),
      try !own.lock(exclusive: true)
    else { fail("the child has released the lock") }
    for number in 1...20 { try journal?.commit { try $0.write(number, "after") } }
    let blob = try writer?.finish()
    try journal?.commit { try $0.write(21, "image", blob: blob) }
    try follower?.catchUp()
    guard follower?.head == journal?.head else { fail("the follower is behind") }
    try follower?.close()
    try journal?.close()
    let opened = try Journal<Logbook>.open(at: url)
    guard opened.head.revision == 41, try opened.verify().isSound else { fail("not as it was left") }
    try opened.close()
  }

  /// Swift hides the function, because a child that continues has none of the threads.
  private static func fork() -> pid_t {
    typealias Fork = @convention(c) () -> pid_t
    #if canImport(Darwin)
      let symbol = unsafe dlsym(UnsafeMutableRawPointer(bitPattern: -2), "fork")
    #else
      let symbol = unsafe dlsym(nil, "fork")
    #endif
    guard let symbol = unsafe symbol else { fail("there is no fork") }
    return unsafe unsafeBitCast(symbol, to: Fork.self)()
  }

  private static func contents(of url: URL) throws -> [String: Data] {
    var contents: [String: Data] = [:]
    for name in try FileManager.default.subpathsOfDirectory(atPath: url.path) {
      contents[name] = FileManager.default.contents(atPath: url.appending(path: name).path) ?? Data()
    }
    return contents
  }

  private static func expectWrongUse(_ what: String, _ body: () throws -> Void) {
    do {
      try body()
      stop("\(what) has succeeded in the child")
    } catch {
      check((error as? JournalError)?.code == .wrongUse, "\(what): \(error)")
    }
  }

  private static func check(_ isSo: Bool, _ complaint: String) { if !isSo { stop(complaint) } }

  /// Ends the child without the parent's handlers of exits.
  private static func stop(_ complaint: String) -> Never {
    FileHandle.standardError.write(Data("\(complaint)\n".utf8))
    _exit(1)
  }
}
