import CatalogModel
import Foundation
import JournalMaintenance
import KeyedArchiving
import TestSupport
import Testing

@testable import journal

/// The examples of `journal help VERB`, run as they are printed, each with the files that it names.
@Suite struct HelpExampleTests {
  @Test func everyExampleOfTheHelpRuns() throws {
    try withTemporaryFolder { folder in
      try makeFiles(folder)
      try makePrograms(folder)
      let hasJQ = try run("which", ["jq"]).code == 0
      var count = 0
      for example in Verbs.all.flatMap({ $0.manual.examples }) {
        let command = example.command
        // The first two kinds need a server, and commits in the meantime. Other tests run them.
        if command.contains("postgresql:") || command.contains("unshare") || command.contains("--follow") {
          continue
        }
        if command.contains("jq "), !hasJQ { continue }
        let result = try run("bash", ["-c", script(command)], environment: ["FOLDER": folder.path])
        let output = String(decoding: result.output + result.error, as: UTF8.self)
        #expect(result.code == 0, "\(command): \(output)")
        count += 1
      }
      #expect(count > 60)
    }
  }

  private func script(_ command: String) -> String {
    let isServer = command.hasPrefix("journal serve") || command.hasPrefix("journal view")
    // The port may be taken.
    let command = command.replacing("/media/stick", with: "stick").replacing(" --port 8080", with: "")
    return """
      set -e -o pipefail
      rm -rf "$FOLDER/work" && cp -R "$FOLDER/files" "$FOLDER/work" && cd "$FOLDER/work"
      export PATH="$FOLDER/programs:$PATH" HOME="$PWD"
      \(preparation(for: command))
      \(isServer ? served(command) : command)
      """
  }

  /// What a journal must be like before a command.
  private func preparation(for command: String) -> String {
    switch command {
    case "journal bisect Books.journal item:42 --not", "journal restore Books.journal item:42":
      "rm -r Books.journal && mv Deleted.journal Books.journal"
    case _ where command.contains("journal init"):
      "rm -r Books.journal"
    case _ where command.hasPrefix("journal redo"): "journal undo Books.journal --by bob"
    case "journal tag Books.journal before-import": ""
    case _ where command.contains("before-import"): "journal tag Books.journal before-import"
    default: ""
    }
  }

  /// Runs a server until it prints its address.
  private func served(_ command: String) -> String {
    """
    \(command) > address & server=$!
    for i in $(seq 6000); do if [ -s address ]; then break; fi; sleep 0.05; done
    kill -TERM $server
    wait $server
    grep -q 127.0.0.1 address
    """
  }

  /// Programs that the examples name, without their effects.
  private func makePrograms(_ folder: TemporaryFolder) throws {
    try makeFolder(folder.path("programs"))
    for (name, script) in [
      ("ssh", "shift; exec sh -c \"$*\""), ("man", "exec cat > /dev/null"), ("xdg-open", "exit 0"),
      ("journal", "exec '\(journalPath)' \"$@\""),
    ] {
      let path = folder.path("programs/\(name)")
      try Data("#!/bin/sh\n\(script)\n".utf8).write(to: URL(filePath: path))
      try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path)
    }
  }

  // MARK: Files

  private func makeFolder(_ path: String) throws {
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  }

  private func makeFiles(_ folder: TemporaryFolder) throws {
    for name in ["stick", "Documents", ".config/fish/completions"] {
      try makeFolder(folder.path("files/\(name)"))
    }
    try makeBooks(folder)
    try makeApps(folder)
    try makeRepositories(folder)
    let events = #"[{"operation":"delete","entity":"item:7"}]"#
    try Data(events.utf8).write(to: URL(filePath: folder.path("files/events.json")))
    try Data("isbn,title,stars\n978,Dune,5\n".utf8).write(to: URL(filePath: folder.path("files/books.csv")))
    let tokens = folder.path("files/tokens")
    try Data("0123456789abcdef\n".utf8).write(to: URL(filePath: tokens))
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: tokens)
  }

  /// A journal of 130 entries, from 2024 to now, its backups, and the journal without item 42.
  private func makeBooks(_ folder: TemporaryFolder) throws {
    let path = folder.path("files/Books.journal")
    let books = try CatalogJournal.create(at: URL(filePath: path))
    let first = try #require(Timestamp("2024-12-02T10:00:00Z")?.date)
    let cover = try books.blobs.add(Data("cover".utf8))
    try books.commit(by: "ana", date: first) { draft in
      for number in 1...110 {
        let title = number == 42 ? "Dun" : "Book \(number)"
        try draft.addItem(
          kind: "book", attributes: ["title": .string(title), "text": "once upon a time", "stars": 5])
      }
      for number in 1...7 {
        try draft.addImage(to: 42, name: "\(number).png", mediaType: "image/png", blob: cover)
      }
    }
    for number in 2...130 {
      // Entry 124 is of 4 August 2026.
      let date = first.addingTimeInterval(Double(number - 2) * 5 * 86_400)
      try books.commit(by: number % 2 == 0 ? "bob" : "ana", date: number == 130 ? nil : date) { draft in
        switch number {
        case 43: try draft.updateItem(42, set: ["title": "Dune"])
        case 61: try draft.deleteItem(43)
        default:
          try draft.updateItem(Catalog.Item.ID(number % 40 + 1), set: ["n\(number)": .integer(Int64(number))])
        }
      }
    }
    try books.takeSnapshot(asOf: .revision(120))
    try books.backup(to: URL(filePath: folder.path("files/stick/Books.backup")))
    try books.backup(toFile: URL(filePath: folder.path("files/Books.jbak")))
    try books.close()
    let deleted = folder.path("files/Deleted.journal")
    try FileManager.default.copyItem(atPath: path, toPath: deleted)
    let other = try CatalogJournal.open(at: URL(filePath: deleted))
    try other.commit(by: "eve") { try $0.deleteItem(42) }
    try other.close()
  }

  /// The journals and files of older apps.
  private func makeApps(_ folder: TemporaryFolder) throws {
    let date = Timestamp("2026-07-01T00:00:00Z")?.date
    for (name, kind) in [("Bugs", "bug"), ("ToDo", "toDo")] {
      let journal = try CatalogJournal.create(at: URL(filePath: folder.path("files/\(name).journal")))
      try journal.commit(by: "ana", date: date) { draft in
        _ = try draft.addItem(kind: kind, attributes: ["title": "Ladybug", "rating": 4.0, "done": false])
      }
      try journal.close()
    }
    func write(_ bytes: [UInt8], _ name: String) throws {
      try Data(bytes).write(to: URL(filePath: folder.path("files/\(name)")))
    }
    let place = ArchiveNode(
      ArchivedClass("POI"),
      [
        "locationName": .string("Home"), "comment": .string("here"), "latitude": .real(1),
        "longitude": .real(2),
      ])
    try write(ArchiveNode.array([.node(place)]).archived(), "annotations")
    let category = ArchiveNode(ArchivedClass("Categories"), ["categoryName": .string("Food")])
    try write(ArchiveNode.array([.node(category)]).archived(), "categories")
    let person = ArchiveNode(ArchivedClass("JSPerson"), ["name": .string("Al"), "number": .string("1")])
    let people: [String: Any] = [
      "personsArray": Data(try ArchiveNode.array([.node(person)]).archived())
    ]
    let lists: [(value: Any, name: String)] = [
      (people, "com.example.people.plist"), ([["titleKey": "Nap"]], "Documents/toDoItems.plist"),
    ]
    for (value, name) in lists {
      let list = try PropertyListSerialization.data(fromPropertyList: value, format: .binary, options: 0)
      try write(Array(list), name)
    }
    try makeFolder(folder.path("files/Library/Private Documents/1.scarybug"))
    let bug = ArchiveNode(ArchivedClass("ScaryBugData"), ["Title": .string("Ladybug"), "Rating": .float(4)])
    try write(ArchiveNode.archive(["Data": .node(bug)]), "Library/Private Documents/1.scarybug/data.plist")
  }

  private func makeRepositories(_ folder: TemporaryFolder) throws {
    var code = try MadeRepository(folder.path("files/code"))
    code.commit("first", [.file("main.c", Data("int main() {}".utf8))])
    try code.write()
    var countries = try MadeRepository(folder.path("files/countries"))
    countries.commit(
      "first",
      [
        .file("countries.json", Data(#"[{"cca3":"DEU","region":"Europe"}]"#.utf8)),
        .file("data/deu.svg", Data("<svg/>".utf8)),
      ])
    try countries.write()
  }
}
