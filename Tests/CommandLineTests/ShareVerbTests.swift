import CatalogModel
import Foundation
import TestSupport
import Testing

/// Journals of several nodes from the command line, with a server of the tests' own.
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

  @Test func aJournalIsSharedJoinedWrittenToAndMadeLocal() throws {
    let address = try PostgresServer.shared.get().makeDatabase()
    try withTemporaryFolder { folder in
      let (one, other) = (try make("One.journal", in: folder), folder.path("Other.journal"))
      let shared = try journal("share", one, address)
      #expect(shared.code == 0 && shared.output.contains("is shared, with 1 entry\n"), "\(shared)")
      let joined = try journal("join", address, other)
      #expect(joined.code == 0 && joined.output.contains("of revision 1\n"), "\(joined)")

      #expect(try journal("tag", one, "first", "--by", "ana").code == 0)
      let behind = try journal("stat", other).output
      #expect(behind.contains("revision 2; this node is 1 entry behind"), "\(behind)")
      #expect(behind.contains(address) && behind.contains("fsync on, synchronous_commit on, no standby"))
      #expect(try journal("stat", other, "--json").output.contains("\"behind\":1"))
      let doctor = try journal("doctor", other)
      #expect(doctor.code == 0 && doctor.output.contains("this node has not seen 1 entries"), "\(doctor)")

      // A verb that writes finds the revision taken, and writes after it.
      #expect(try journal("tag", other, "second", "--by", "bob").code == 0)
      let log = try journal("log", other).output
      #expect(log.contains("       3  ") && log.contains("bob"), "\(log)")
      #expect(try journal("cat", other, "image:1").output == "<svg/>")
      let again = try journal("join", address, one)
      #expect(again.code == 0 && again.output.contains("has revision 3: 1 new entry\n"), "\(again)")
      for name in [one, other] { #expect(try journal("verify", name, "--deep").code == 0) }

      #expect(try journal("unshare", other).code == 0)
      #expect(!(try journal("stat", other).output.contains("shared at")))
      #expect(try journal("unshare", other).code == 2)
    }
  }

  @Test func whatGoesWrongIsSaidInOneSentence() throws {
    let address = try PostgresServer.shared.get().makeDatabase()
    try withTemporaryFolder { folder in
      let one = try make("One.journal", in: folder)
      let secret = try journal("share", one, "postgresql://app:s3cret@127.0.0.1/books")
      #expect(secret.code == 2 && secret.error.contains("password file") && !secret.error.contains("s3cret"))
      let gone = try journal("share", one, "postgresql://app@127.0.0.1:1/books")
      #expect(gone.code == 3 && gone.error.contains("can't be reached"), "\(gone)")
      #expect(try journal("join", address, folder.path("None.journal")).code == 1)
      #expect(try journal("share", one, address).code == 0)
      #expect(try journal("share", one, address).code == 2)
      let erased = try journal("erase", one, "item:1", "--reason", "x")
      #expect(erased.code == 2, "\(erased)")
      // Another journal with nothing of this one is not joined over.
      let other = try make("Other.journal", in: folder)
      #expect(try journal("join", address, other).code == 1)
    }
  }
}
