import Foundation
import Journaling
import TestSupport
import Testing

@testable import PostgresLog

/// What the engine requires of a server, and the errors for servers that do not meet it.
@Suite(.serialized, .enabled(if: PostgresServer.isInstalled, "PostgreSQL is not installed"))
struct ServerTests {
  private func create(at address: String, accepting: Bool = false) throws {
    let id = try #require(JournalID(bytes: (0..<16).map { _ in UInt8.random(in: 0...255) }))
    try PostgresStorage(address, acceptsUnsafeSettings: accepting).begin(id)
  }

  private func error(of body: () throws -> Void) -> JournalError? {
    #expect(throws: JournalError.self, performing: body)
  }

  @Test func aServerThatMayLoseConfirmedCommitsIsRefusedUnlessItIsAccepted() throws {
    let server = try PostgresServer.shared.get()
    let careless = server.address(setting: "synchronous_commit=off")
    let found = error { try create(at: careless) }
    #expect(found?.code == .unsafeSettings && found?.message.contains("synchronous_commit is off") == true)
    try create(at: careless, accepting: true)
    try create(at: server.address)
  }

  @Test func aServerWithoutFsyncOrFullPagesIsRefused() throws {
    let server = try PostgresServer(["fsync=off", "full_page_writes=off"])
    let found = error { try create(at: server.address) }
    #expect(found?.code == .unsafeSettings && found?.message.contains("fsync is off") == true)
    try server.sql("ALTER SYSTEM SET fsync = on")
    try server.sql("SELECT pg_reload_conf()")
    let other = error { try create(at: server.address) }
    #expect(other?.message.contains("full_page_writes is off") == true)
    try create(at: server.address, accepting: true)
    try server.stop()
  }

  /// With `local`, a commit waits for no standby, and with `remote_write` not for the standby's drive.
  @Test func aSettingWithWhichAStandbyCanLackACommitIsRefused() throws {
    let server = try PostgresServer(["synchronous_standby_names='standby'"])
    for value in ["local", "remote_write"] {
      let found = error { try create(at: server.address(setting: "synchronous_commit=\(value)")) }
      #expect(found?.code == .unsafeSettings, "\(value)")
      #expect(
        found?.message.contains("synchronous_commit is \(value), so a failover loses what was") == true)
    }
    // Here no commit waits, because there is no standby.
    try create(at: server.address(setting: "synchronous_commit=local"), accepting: true)
    let alone = try PostgresServer.shared.get()
    for value in ["local", "remote_write", "remote_apply"] {
      try create(at: alone.address(setting: "synchronous_commit=\(value)"))
    }
    try server.stop()
  }

  /// A standby can't write, and only its primary knows what is confirmed.
  @Test func aStandbyIsRefusedAndTheErrorSaysWhatToName() throws {
    let primary = try PostgresServer()
    let standby = try PostgresServer(["hot_standby=on"], standbyOf: primary)
    for isAccepted in [false, true] {
      let found = error { try create(at: standby.address, accepting: isAccepted) }
      #expect(
        found?.code == .unreachable && found?.message.contains("target_session_attrs=read-write") == true)
    }
    let both = "postgresql://journal@127.0.0.1:\(standby.port),127.0.0.1:\(primary.port)/postgres"
    try create(at: "\(both)?target_session_attrs=read-write")
    try standby.stop()
    try primary.stop()
  }

  @Test func aServerThatIsNotThereIsUnreachable() throws {
    let found = error { try create(at: "postgresql://app@127.0.0.1:1/books") }
    #expect(found?.code == .unreachable)
  }

  /// Only the first one used to be named, which after a failover is not the one with the problem.
  @Test func ofSeveralServersEachOneIsNamedWithItsReason() throws {
    let port = try PostgresServer.shared.get().port
    let hosts = "127.0.0.1:1,127.0.0.1:\(port)"
    let found = error {
      try create(at: "postgresql://journal@\(hosts)/postgres?target_session_attrs=standby")
    }
    #expect(found?.code == .unreachable, "\(String(describing: found))")
    for text in [
      "port 1 failed: Connection refused; ", "port \(port) failed: server is not in hot standby mode",
    ] {
      #expect(found?.message.contains(text) == true, "\(found?.message ?? "")")
    }
  }

  /// A primary that hangs accepts connections and says nothing.
  @Test func aServerThatDoesNotAnswerDoesNotHideTheNext() throws {
    let server = try PostgresServer.shared.get()
    let silent = try PostgresServer()
    try silent.pause(true)
    defer {
      try? silent.pause(false)
      try? silent.stop()
    }
    let hosts = "127.0.0.1:\(silent.port),127.0.0.1:\(server.port)"
    try create(at: "postgresql://journal@\(hosts)/postgres?target_session_attrs=read-write")
  }

  /// An address is kept in files, and errors end up in logs.
  @Test(arguments: [
    "postgresql://app:s3cret@127.0.0.1/books", "host=127.0.0.1 password=s3cret",
    "postgresql://app@127.0.0.1/books?sslpassword=s3cret", "postgresql://app:s3cret%zz@h/b",
    "passwrod=s3cret",
    "host=h\npassword=s3cret", "dbname='postgresql://app:s3cret@127.0.0.1/books'",
    "dbname='user=app password=s3cret'",
    "postgresql://app:s3cret/x@127.0.0.1:5432/books", "postgresql://app:12/s3cret@127.0.0.1/books",
  ])
  func anAddressWithAPasswordIsRefusedAndNotRepeated(_ address: String) throws {
    let found = error { _ = try PostgresStorage(address) }
    #expect(found?.code == .wrongUse && found?.description.contains("s3cret") == false)
  }

  /// A name with `=` used to be taken for another address with a secret.
  @Test func aDatabaseCanHaveAnEqualsSignInItsName() throws {
    let server = try PostgresServer.shared.get()
    try server.sql("CREATE DATABASE \"a=b\"")
    defer { _ = try? server.sql("DROP DATABASE \"a=b\"") }
    try create(at: server.address(database: "a%3Db"))
  }

  /// It would mean whatever the environment says, and a folder can't record that.
  @Test(arguments: ["", " "]) func anEmptyAddressIsRefused(_ address: String) {
    #expect(error { _ = try PostgresStorage(address) }?.code == .wrongUse)
  }

  /// Later versions of libpq may have secrets that are not named as passwords.
  @Test func libpqSaysWhichSettingsAreSecret() {
    let settings = Connection.settings(in: "host=h user=u password=a sslpassword=b passfile=c sslkey=d") ?? []
    #expect(settings.count == 6)
    #expect(Set(settings.filter { $0.isSecret }.map { $0.name }) == ["password", "sslpassword"])
  }

  @Test func aReadOnlyRoleIsToldThatItCanNotWrite() throws {
    let server = try PostgresServer.shared.get()
    try create(at: server.address)
    try server.sql(
      "DROP ROLE IF EXISTS reader; CREATE ROLE reader LOGIN; GRANT SELECT ON journal_logs TO reader")
    defer { _ = try? server.sql("DROP OWNED BY reader; DROP ROLE reader") }
    let found = error { try create(at: server.address(database: "postgres", user: "reader")) }
    #expect(found?.code == .permission)
  }
}
