import CatalogModel
import Foundation
import Locks
import TestSupport
import Testing

/// Journals of several nodes from the command line, with a server that the tests start.
@Suite(.serialized, .enabled(if: PostgresServer.isInstalled, "PostgreSQL is not installed"))
struct ShareVerbTests {
  private func make(_ name: String, in folder: TemporaryFolder) throws -> String {
    let journal = try CatalogJournal.create(at: folder.url.appending(path: name))
    let cover = try journal.blobs.add(Data("<svg/>".utf8))
    try journal.commit(by: "ana") { draft in
      let book = try draft.addItem(kind: "book", attributes: ["title": .string("Dune")])
      try draft.addImage(to: book, name: "cover.svg", mediaType: "image/svg+xml", blob: cover)
    }
    try journal.close()
    return folder.path(name)
  }

  /// Makes a journal and another node of it.
  private func makeNodes(at address: String, in folder: TemporaryFolder) throws -> (
    one: String, other: String
  ) {
    let (one, other) = (try make("One.journal", in: folder), folder.path("Other.journal"))
    #expect(try journal("share", one, address).code == 0)
    #expect(try journal("join", address, other).code == 0)
    return (one, other)
  }

  @Test func aJournalIsSharedJoinedWrittenToAndMadeLocal() throws {
    let address = try PostgresServer.shared.get().makeDatabase()
    try withTemporaryFolder { folder in
      let (one, other) = (try make("One.journal", in: folder), folder.path("Other.journal"))
      try check("share", one, address, prints: "is shared, with 1 entry\n")
      try check("join", address, other, prints: "with revision 1\n")

      #expect(try journal("tag", one, "first", "--by", "ana").code == 0)
      let behind = try journal("stat", other).output
      #expect(behind.contains("revision 2; this node is 1 entry behind"), "\(behind)")
      #expect(behind.contains(address) && behind.contains("fsync on, synchronous_commit on, no standby"))
      #expect(try journal("stat", other, "--json").output.contains("\"behind\":1"))
      let doctor = try check("doctor", other, prints: "this node has not seen 1 entry of")
      let place = """
        shared at     \(address)
        shared log    revision 2; this node is 1 entry behind
        flushed       fsync on, synchronous_commit on, no standby

        """
      #expect(doctor.output.hasPrefix(place) && behind.contains(place), "\(doctor)")
      let inJSON = try journal("doctor", other, "--json").output
      #expect(inJSON.contains(#""revision":2,"behind":1,"flushed":"fsync on, "#), "\(inJSON)")
      #expect(inJSON.contains(#""warning":null,"problem":null"#), "\(inJSON)")

      // A verb that writes finds that the revision is taken, and writes the next one.
      #expect(try journal("tag", other, "second", "--by", "bob").code == 0)
      let log = try journal("log", other).output
      #expect(log.contains("       3  ") && log.contains("bob"), "\(log)")
      #expect(try journal("cat", other, "image:1").output == "<svg/>")
      try check("join", address, one, prints: "has revision 3: 1 new entry\n")
      for name in [one, other] { #expect(try journal("verify", name, "--deep").code == 0) }

      #expect(try journal("unshare", other).code == 0)
      #expect(!(try journal("stat", other).output.contains("shared at")))
      #expect(try journal("unshare", other).code == 2)
    }
  }

  /// A limit of five seconds replaced that of the user.
  @Test func aServerHasTheTimeToAnswerThatTheEnvironmentOrAServiceFileGives() throws {
    let server = try PostgresServer()
    try withTemporaryFolder { folder in
      let service = folder.path("services")
      let settings = "host=127.0.0.1\nport=\(server.port)\nuser=journal\ndbname=postgres\n"
      try "[slow]\n\(settings)connect_timeout=60\n".write(toFile: service, atomically: true, encoding: .utf8)
      let plain = "postgresql://journal@127.0.0.1:\(server.port)/postgres"
      let uses = [
        (try make("One.journal", in: folder), plain, ["PGCONNECT_TIMEOUT": "60"]),
        (try make("Other.journal", in: folder), "service=slow", ["PGSERVICEFILE": service]),
      ]
      try server.pause(true)
      Thread.detachNewThread {
        sleep(7)
        try? server.pause(false)
      }
      let outcomes = Lock<[Outcome]>([])
      DispatchQueue.concurrentPerform(iterations: uses.count) { index in
        let (path, address, environment) = uses[index]
        guard let outcome = try? journal("share", path, address, environment: environment) else { return }
        outcomes.withLock { $0.append(outcome) }
      }
      let found = outcomes.withLock { $0 }
      #expect(found.map(\.code) == [0, 0], "\(found)")
    }
  }

  @Test func failuresAreReportedInOneSentence() throws {
    let address = try PostgresServer.shared.get().makeDatabase()
    try withTemporaryFolder { folder in
      let one = try make("One.journal", in: folder)
      let secret = try journal("share", one, "postgresql://app:s3cret@127.0.0.1/books")
      #expect(secret.code == 2 && secret.error.contains("password file") && !secret.error.contains("s3cret"))
      try check("share", one, "postgresql://app@127.0.0.1:1/books", code: 3, says: "can't be reached")
      #expect(try journal("join", address, folder.path("None.journal")).code == 1)
      #expect(try journal("share", one, address).code == 0)
      #expect(try journal("share", one, address).code == 2)
      try check("erase", one, "item:1", "--reason", "x", code: 2)
      // `join` does not replace a journal that has no history in common with the shared one.
      let other = try make("Other.journal", in: folder)
      #expect(try journal("join", address, other).code == 1)
      // A damaged journal is not mistaken for a folder that is still to be created.
      try Data().write(to: folder.url.appending(path: "Other.journal/HEAD"))
      try check("join", address, other, code: 3, says: "HEAD")
    }
  }

  /// It was said to be another journal.
  @Test func joiningTheFolderOfAnInterruptedSharingSaysHowToCompleteIt() throws {
    let address = try PostgresServer.shared.get().makeDatabase()
    try withTemporaryFolder { folder in
      let (one, other) = (try make("One.journal", in: folder), try make("Other.journal", in: folder))
      #expect(try journal("share", one, address).code == 0)
      // As if the process had ended before its last step.
      try FileManager.default.removeItem(atPath: "\(one)/SHARED")
      let refused = try check("join", address, one, code: 1, says: "was not completed")
      #expect(refused.error.contains("journal share \(one) \(address) completes it"), "\(refused)")
      #expect(try !journal("stat", one).output.contains("shared at"))
      try check("join", address, other, code: 1, says: "is another journal already")
      #expect(try journal("share", one, address).code == 0)
      try check("join", address, one, prints: "has revision 1: 0 new entries")
    }
  }

  // MARK: Erasing

  /// The steps of Documentation/Shared.md. An erased entry keeps its digest, so the old rows of the server, and the old
  /// folders of other nodes, would pass for the same history.
  @Test func afterAnErasureAJournalIsSharedAgainWithoutTheOldRowsAndOthersJoinAnew() throws {
    let server = try PostgresServer.shared.get()
    let address = try server.makeDatabase()
    try withTemporaryFolder { folder in
      let (one, other) = try makeNodes(at: address, in: folder)
      #expect(try journal("tag", other, "first", "--by", "bob").code == 0)
      let shared = try journal("erase", one, "item:1", "--reason", "asked for")
      #expect(
        shared.code == 2 && shared.error.contains("make the journal local with unshare")
          && shared.error.contains("it can be shared again once its old rows are deleted"), "\(shared)")
      #expect(try journal("unshare", one).code == 0)
      #expect(try journal("erase", one, "item:1", "--reason", "asked for").code == 0)
      try check("share", one, address, code: 3, says: "that was erased here")
      #expect(try !journal("stat", one).output.contains("shared at"))

      let id = try #require(
        try journal("stat", one).output.split(separator: "\n").first?.split(separator: " ").last)
      for table in ["journal_image_pieces", "journal_images", "journal_entries", "journal_logs"] {
        try server.sql("DELETE FROM \(table) WHERE journal = '\(id)'", at: address)
      }
      try check("tag", other, "second", "--by", "bob", code: 3, says: "has no log of the journal")
      #expect(try journal("share", one, address).code == 0)
      let rows = "SELECT count(*) FROM journal_entries WHERE position('Dune'::bytea IN bytes) > 0"
      #expect(try server.sql(rows, at: address) == "0\n")
      #expect(try server.sql("SELECT count(*) FROM journal_images", at: address) == "0\n")

      // The other node still has the erased item, and each of its verbs says what to do. Its doctor used to say that all
      // was well, and to recommend the `join` that is refused.
      let forgotten = try check("doctor", other, code: 1, prints: "entry 3 erased something")
      #expect(forgotten.output.contains("    Remove the folder, and run join.\n"), "\(forgotten)")
      #expect(!forgotten.output.contains("has not seen"), "\(forgotten)")
      for words in [["join", address, other], ["tag", other, "second", "--by", "bob"]] {
        let refused = try journal(words)
        #expect(
          refused.code == 3 && refused.error.contains("entry 3 erased something")
            && refused.error.contains("remove the folder and join the shared journal again"),
          "\(words): \(refused.error)")
      }
      #expect(try journal("log", one).output.contains("asked for"))
      #expect(try !journal("log", one).output.contains("second"))
      try FileManager.default.removeItem(atPath: other)
      #expect(try journal("join", address, other).code == 0)
      #expect(try journal("verify", other, "--deep").code == 0)
      #expect(try journal("cat", other, "image:1").code != 0)
      #expect(try journal("tag", other, "second", "--by", "bob").code == 0)
      try check("join", address, one, prints: "has revision 4: 1 new entry")
    }
  }

  /// The other nodes continue without it, and it can't come back.
  @Test func aPrunedNodeCanNotBeSharedAgain() throws {
    let address = try PostgresServer.shared.get().makeDatabase()
    try withTemporaryFolder { folder in
      let (one, other) = try makeNodes(at: address, in: folder)
      #expect(try journal("tag", other, "first", "--by", "bob").code == 0)
      try check("prune", one, "--before", "HEAD", code: 2, says: "after a pruning it can't")
      #expect(try journal("unshare", one).code == 0)
      #expect(try journal("prune", one, "--before", "HEAD").code == 0)
      try check("share", one, address, code: 2, says: "history was pruned")
      #expect(try journal("cat", one, "image:1").output == "<svg/>")
      #expect(try journal("tag", other, "second", "--by", "bob").code == 0)
      #expect(try journal("doctor", other).output.contains("all is well up to entry 3"))
    }
  }

  // MARK: Images in a folder

  @Test func imagesCanBeInAFolderThatAllNodesShare() throws {
    let server = try PostgresServer.shared.get()
    let address = try server.makeDatabase()
    try withTemporaryFolder { folder in
      let (one, other) = (try make("One.journal", in: folder), folder.path("Other.journal"))
      let (option, images) = ("--shared-images", folder.path("images"))
      try check("share", one, address, option, images, code: 3, says: "the place of the shared images")
      #expect(try !journal("stat", one).output.contains("shared at"))
      try FileManager.default.createDirectory(atPath: images, withIntermediateDirectories: false)
      #expect(try journal("share", one, address, option, images).code == 0)
      #expect(try FileManager.default.contentsOfDirectory(atPath: images).count == 1)
      #expect(try server.sql("SELECT count(*) FROM journal_images", at: address) == "0\n")
      #expect(try journal("join", address, other).code == 0)
      try check("cat", other, "image:1", code: 3, says: "name the place")
      #expect(try journal("cat", other, "image:1", option, images).output == "<svg/>")
      #expect(try journal("unshare", other, option, images).code == 0)
      #expect(try journal("cat", other, "image:1").output == "<svg/>")
    }
  }

  // MARK: What the server says

  /// The server was restored from a backup, and has other entries from the third one on.
  @Test func aDivergenceIsNamedByItsFirstRevision() throws {
    let server = try PostgresServer.shared.get()
    let address = try server.makeDatabase()
    try withTemporaryFolder { folder in
      let (one, other) = (try make("One.journal", in: folder), folder.path("Other.journal"))
      #expect(try journal("share", one, address).code == 0)
      #expect(try journal("tag", one, "first", "--by", "ana").code == 0)
      #expect(try journal("join", address, other).code == 0)
      for name in ["a", "b", "c"] { #expect(try journal("tag", one, name, "--by", "ana").code == 0) }
      try server.sql("DELETE FROM journal_entries WHERE revision > 2", at: address)
      try server.sql("UPDATE journal_logs SET revision = 2", at: address)
      #expect(try journal("tag", other, "d", "--by", "bob").code == 0)
      let stat = try journal("stat", one).output
      #expect(stat.contains("problem       ") && stat.contains("(in revision 3)"), "\(stat)")
      let doctor = try check("doctor", one, code: 1, prints: "from entry 3 on")
      #expect(doctor.output.contains("shared log    revision 3\n"), "\(doctor)")
    }
  }

  /// The server is not there, or its commits wait.
  @Test func whatKeepsCommitsFromBeingStoredIsSaid() throws {
    let server = try PostgresServer()
    try withTemporaryFolder { folder in
      let one = try make("One.journal", in: folder)
      #expect(try journal("share", one, server.address).code == 0)
      try server.sql("ALTER SYSTEM SET synchronous_standby_names = 'standby'")
      try server.sql("SELECT pg_reload_conf()")
      for _ in 0..<500 where try server.sql("SHOW synchronous_standby_names") != "standby\n" {
        usleep(10_000)
      }
      let warning = "no synchronous standby is connected: commits wait until one is"
      let stat = try journal("stat", one).output
      #expect(stat.contains("warning       \(warning)\n"), "\(stat)")
      let waits = try check("doctor", one, prints: "standbys standby, 0 connected\n")
      #expect(waits.output.contains("note: \(warning) ("), "\(waits)")

      // A verb that commits says so at once, because the commit then waits. This one waits for nothing.
      let joined = try journal("join", server.address, one)
      #expect(joined.code == 0 && joined.error == "journal: warning: \(warning)\n", "\(joined)")

      let other = try journal("share", try make("Other.journal", in: folder), server.address)
      #expect(other.code != 0 && other.error.contains("did not confirm the change; \(warning)"), "\(other)")

      try server.stop()
      let gone = try journal("doctor", one)
      let place = "shared at     \(server.address)\nnote: "
      #expect(gone.code == 0 && gone.output.hasPrefix(place), "\(gone)")
      #expect(gone.output.contains("can't be reached"), "\(gone)")
    }
  }

  /// It was a note, and the exit code was 0.
  @Test func aServerThatHasLostTheJournalIsDamage() throws {
    let server = try PostgresServer.shared.get()
    let address = try server.makeDatabase()
    try withTemporaryFolder { folder in
      let (one, other) = try makeNodes(at: address, in: folder)
      #expect(try journal("tag", one, "first", "--by", "ana").code == 0)
      try server.sql("DELETE FROM journal_entries WHERE revision = 2", at: address)
      let lacking = try journal("doctor", other)
      let reason = "this role sees no entry after 1 in journal_entries"
      #expect(lacking.code == 1 && lacking.output.contains(reason), "\(lacking)")
      for loss in ["DELETE FROM journal_logs", "DROP TABLE journal_logs"] {
        try server.sql(loss, at: address)
        let lost = try check("doctor", one, code: 1, prints: "damage: ")
        #expect(lost.output.contains("    Restore the server from its newest backup."), "\(loss): \(lost)")
        #expect(try journal("log", one).code == 0)
        #expect(try journal("stat", one).output.contains("problem       "))
      }
    }
  }

  /// They were counted as read, and nothing said that the server lacked them.
  @Test func imagesThatOnlyTheServerHasAreNotCountedAsRead() throws {
    let server = try PostgresServer.shared.get()
    let address = try server.makeDatabase()
    try withTemporaryFolder { folder in
      let (one, other) = (try make("One.journal", in: folder), folder.path("Other.journal"))
      #expect(try journal("share", one, address).code == 0)
      #expect(try journal("verify", one).output.contains("1 blob, "))
      #expect(try journal("join", address, other).code == 0)
      let verified = try check("verify", other, prints: ", 0 blobs, ")
      #expect(verified.output.contains("1 blob of the shared journal was not fetched yet, and not read\n"))
      #expect(try journal("verify", other, "--json").output.contains(#""blobs":1,"unfetchedBlobs":1,"#))
      try check("doctor", other, prints: "images        1 not fetched yet, and not read\n")
      #expect(try journal("doctor", other, "--json").output.contains(#""unfetchedBlobs":1"#))

      try server.sql("DELETE FROM journal_image_pieces", at: address)
      let lacking = try journal("doctor", other)
      #expect(
        lacking.code == 1
          && lacking.output.contains(
            "damage: the bytes of an image are neither on this node nor on the server"),
        "\(lacking)")
      // The page says how to repair it.
      try server.sql("DELETE FROM journal_images", at: address)
      #expect(try journal("unshare", one).code == 0)
      #expect(try journal("share", one, address).code == 0)
      #expect(try journal("doctor", other).code == 0)
      #expect(try journal("cat", other, "image:1").output == "<svg/>")
    }
  }

  /// A node was said to be another journal.
  @Test func joiningThroughAnotherAddressSaysHowToChangeIt() throws {
    let server = try PostgresServer.shared.get()
    let address = try server.makeDatabase()
    try withTemporaryFolder { folder in
      let one = try make("One.journal", in: folder)
      #expect(try journal("share", one, address).code == 0)
      let words = "host=127.0.0.1 port=\(server.port) user=journal dbname=\(address.databaseName)"
      try check(
        "join", words, one, code: 1, says: "is a node of this journal already, through another address")
      try "shared 1\r\n\(words)".write(toFile: "\(one)/SHARED", atomically: true, encoding: .utf8)
      try check("join", words, one, prints: "has revision 1: 0 new entries")
    }
  }

  @Test func journalsOfADatabaseAreListedWithTheirRevisions() throws {
    let address = try PostgresServer.shared.get().makeDatabase()
    try withTemporaryFolder { folder in
      for name in ["One.journal", "Two.journal"] {
        #expect(try journal("share", try make(name, in: folder), address).code == 0)
      }
      #expect(try journal("tag", folder.path("Two.journal"), "first", "--by", "ana").code == 0)
      let several = try check(
        "join", address, folder.path("Other.journal"), code: 2, says: "there are 2 journals in")
      #expect(
        several.error.contains(" (revision 1)") && several.error.contains(" (revision 2)"), "\(several)")
    }
  }

  /// No verb could even read the journal, and its doctor told people to restore it from a backup.
  @Test func anInvalidAddressLeavesReadingPossibleAndIsNotPrinted() throws {
    try withTemporaryFolder { folder in
      let one = try make("One.journal", in: folder)
      try "shared 1\npostgresql://app:s3cret@127.0.0.1/books\n".write(
        toFile: "\(one)/SHARED", atomically: true, encoding: .utf8)
      #expect(try journal("log", one).code == 0)
      #expect(try journal("cat", one, "image:1").output == "<svg/>")
      let advice = "correct the second line of SHARED"
      let doctor = try check("doctor", one, prints: "note: ")
      #expect(doctor.output.contains(advice) && !doctor.output.contains("s3cret"), "\(doctor)")
      let stat = try journal("stat", one)
      #expect(stat.code == 0 && stat.output.contains(advice) && !stat.output.contains("s3cret"), "\(stat)")
      let tag = try journal("tag", one, "first", "--by", "ana")
      #expect(tag.code == 2 && tag.error.contains(advice) && !tag.error.contains("s3cret"), "\(tag)")
    }
  }

  /// It said nothing.
  @Test func servingSaysThatTheServerIsAwayAndThatItIsBack() throws {
    let server = try PostgresServer()
    try withTemporaryFolder { folder in
      let one = try make("One.journal", in: folder)
      #expect(try journal("share", one, server.address).code == 0)
      let errors = folder.path("errors")
      try Data().write(to: URL(filePath: errors))
      let process = Process()
      process.executableURL = URL(filePath: journalPath)
      process.arguments = ["serve", one, "--edit"]
      process.standardOutput = FileHandle.nullDevice
      process.standardError = try FileHandle(forWritingTo: URL(filePath: errors))
      try process.run()
      defer {
        process.terminate()
        process.waitUntilExit()
      }
      func waitFor(_ text: String) throws {
        var said = ""
        for _ in 0..<30_000 where !said.contains(text) {
          usleep(10_000)
          said = try String(contentsOfFile: errors, encoding: .utf8)
        }
        #expect(said.contains(text), "\(said)")
      }
      try waitFor("serving until it is interrupted")
      try server.stop()
      try waitFor("journal: warning: the shared log can't be followed at the moment: ")
      try server.start()
      try waitFor("journal: info: the shared log can be reached again\n")
    }
    try server.stop()
  }

  // MARK: Settings

  @Test func aServerThatMayLoseConfirmedWritesIsAcceptedOnlyWithAnOption() throws {
    let server = try PostgresServer(["fsync=off"])
    try withTemporaryFolder { folder in
      let one = try make("One.journal", in: folder)
      try check("share", one, server.address, code: 3, says: "fsync is off")
      #expect(try journal("share", one, server.address, "--unsafe-settings").code == 0)
      #expect(try journal("tag", one, "first", "--by", "ana").code == 3)
      #expect(try journal("tag", one, "first", "--by", "ana", "--unsafe-settings").code == 0)
    }
    try server.stop()
  }

  // MARK: TLS and passwords

  /// The server accepts only TLS with a password. The client's settings come from a service file and a password file.
  @Test func aServiceFileAndAPasswordFileConnectWithTLS() throws {
    let server = try PostgresServer()
    let certificate = try server.requireTLS()
    try server.sql("CREATE ROLE app LOGIN PASSWORD 's3cret'")
    try server.sql("GRANT CREATE ON SCHEMA public TO app")
    try server.stop()
    try server.start()
    let stranger = try PostgresServer()
    let strange = try stranger.requireTLS()
    try withTemporaryFolder { folder in
      func file(_ name: String, _ text: String) throws -> String {
        try text.write(toFile: folder.path(name), atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: folder.path(name))
        return folder.path(name)
      }
      // The server's own copy may be readable only by the user who runs the server.
      func copy(_ path: String, _ name: String) throws -> String {
        try file(name, try String(contentsOfFile: path, encoding: .utf8))
      }
      let own = try copy(certificate, "own.crt")
      let common = "host=127.0.0.1\nport=\(server.port)\ndbname=postgres\nuser=app\nconnect_timeout=5\n"
      let services = try file(
        "services",
        "[books]\n\(common)sslmode=verify-full\nsslrootcert=\(own)\n"
          + "[ca]\n\(common)sslmode=verify-ca\nsslrootcert=\(own)\n"
          + "[strange]\n\(common)sslmode=verify-ca\nsslrootcert=\(try copy(strange, "strange.crt"))\n"
          + "[plain]\n\(common)sslmode=disable\n")
      let environment = [
        "PGSERVICEFILE": services,
        "PGPASSFILE": try file("passwords", "127.0.0.1:\(server.port):*:app:s3cret\n"),
      ]
      let one = try make("One.journal", in: folder)
      let strange = try journal("share", one, "service=strange", environment: environment)
      #expect(strange.code == 3 && strange.error.contains("certificate verify failed"), "\(strange)")
      let plain = try journal("share", one, "service=plain", environment: environment)
      #expect(plain.code == 3 && plain.error.contains("no pg_hba.conf entry"), "\(plain)")
      let stranger = try journal(
        "share", one, "service=books", environment: ["PGSERVICEFILE": services, "PGPASSFILE": "/dev/null"])
      #expect(stranger.code == 3 && stranger.error.contains("password"), "\(stranger)")

      let shared = try journal("share", one, "service=books", environment: environment)
      #expect(shared.code == 0, "\(shared)")
      let other = folder.path("Other.journal")
      #expect(try journal("join", "service=ca", other, environment: environment).code == 0)
      #expect(try journal("tag", other, "first", "--by", "ana", environment: environment).code == 0)
      let stat = try journal("stat", other, environment: environment)
      #expect(stat.output.contains("service=ca") && stat.output.contains("up to date"), "\(stat)")
      for name in [one, other] {
        for file in try FileManager.default.subpathsOfDirectory(atPath: name) {
          guard let bytes = try? Data(contentsOf: URL(filePath: "\(name)/\(file)")) else { continue }
          #expect(bytes.range(of: Data("s3cret".utf8)) == nil, "\(file)")
        }
      }
    }
    try server.stop()
    try stranger.stop()
  }
}

extension String {
  /// The database that an address of the tests' server names.
  fileprivate var databaseName: String {
    String(split(separator: "/").last?.split(separator: "?").first ?? "")
  }
}
