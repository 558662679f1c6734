import CatalogModel
import Foundation
import JournalMaintenance
import TestSupport
import Testing

/// A compiler of C, if there is one.
private let compiler = ["cc", "clang", "gcc"].first { (try? run($0, ["--version"]))?.code == 0 }

/// Entries made on the command line.
@Suite struct CommitVerbTests {
  private func commit(_ path: String, _ json: String, _ options: String...) throws -> Outcome {
    let result = try run(journalPath, ["commit", path] + options, input: Data(json.utf8))
    return Outcome(
      code: result.code, output: String(decoding: result.output, as: UTF8.self),
      error: String(decoding: result.error, as: UTF8.self))
  }

  private func write(_ data: Data, _ name: String, _ folder: TemporaryFolder) throws -> URL {
    let url = folder.url.appending(path: name)
    try data.write(to: url)
    return url
  }

  private func withJournal(_ body: (TemporaryFolder, _ path: String) throws -> Void) throws {
    try withTemporaryFolder { folder in
      let path = folder.path("Books.journal")
      #expect(try journal("init", path).code == 0)
      try body(folder, path)
    }
  }

  @Test func aFileBecomesOneEntryWithAnImage() throws {
    try withJournal { folder, path in
      let png = Data([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0])
      let image = try write(png, "cover", folder)
      let file = try write(
        Data(
          #"""
          {"author":"ana","note":"moving in","metadata":{"from":"shelf"},"events":[
          {"operation":"add","entity":"category","as":"sf","changes":{"name":"SF","color":"#2255AA"}},
          {"operation":"add","as":"dune","changes":{"kind":"book","category":"sf",
            "attributes":{"title":"Dune","read":{"$date":"2026-08-01"},"pages":412}}},
          {"operation":"add","entity":"image","changes":{"item":"dune","file":"\#(image.path)"}}]}
          """#.utf8), "events.json", folder)
      let made = try journal("commit", path, file.path)
      #expect(
        made
          == Outcome(
            code: 0, output: "entry 1: 3 entities changed\n+ category:1\n+ item:1\n+ image:1\n", error: ""))
      let app = try CatalogJournal.open(at: URL(filePath: path))
      let entry = try app.entry(at: 1)
      #expect(entry.author == "ana" && entry.note == "moving in" && entry.metadata == ["from": "shelf"])
      let item = try #require(app.state.item(1))
      #expect(item.category == 1 && item["title"] == "Dune" && item["pages"] == 412)
      #expect(item["read"] == .date(try #require(Timestamp("2026-08-01T00:00:00Z")).date))
      let cover = try #require(app.state.image(1))
      #expect(cover.name == "cover" && cover.mediaType == "image/png")
      #expect(try app.blobs.data(of: cover.blob) == png)
      #expect(try app.verify().isSound)
      try app.close()
    }
  }

  @Test func aDateIsKeptApartFromTheDateThatOrdersEntries() throws {
    try withJournal { _, path in
      for date in ["2020-01-02T00:00:00Z", "2020-01-01T00:00:00.000001Z"] {
        let json =
          "{\"date\":\"\(date)\",\"events\":[{\"operation\":\"add\",\"changes\":{\"kind\":\"book\"}}]}"
        #expect(try commit(path, json).code == 0)
      }
      let app = try CatalogJournal.open(at: URL(filePath: path), mode: .readOnly)
      let entries = try (1...2).map { try app.entry(at: $0) }
      #expect(entries.map { $0.date.ISO8601Format() } == ["2020-01-02T00:00:00Z", "2020-01-02T00:00:00Z"])
      #expect(entries[1].clockDate == Timestamp("2020-01-01T00:00:00.000001Z")?.date)
      let wrong = try commit(
        path, #"{"date":"yesterday","events":[{"operation":"delete","entity":"item:1"}]}"#)
      #expect(wrong.code == 2 && wrong.error.contains("date of the body is a date such as"), "\(wrong)")
    }
  }

  @Test func aLaterEventNamesAnAddedEntityByItsName() throws {
    try withJournal { _, path in
      let add = #"{"operation":"add","as":"isbn:1","changes":{"kind":"book"}}"#
      let update = #"{"operation":"update","entity":"isbn:1","changes":{"attributes":{"stars":5}}}"#
      #expect(try commit(path, "[\(add),\(update)]").code == 0)
      #expect(try journal("cat", path, "item:1.stars").output == "5\n")
      let unknown = try commit(path, "[\(update)]")
      #expect(
        unknown.code == 2 && unknown.error.contains("no earlier event adds an entity as \"isbn:1\""),
        "\(unknown)")
    }
  }

  /// Pipes used to be refused, and no reason was given.
  @Test func eventsComeFromAPipeAndAnUnreadableFileHasAReason() throws {
    try withJournal { folder, path in
      let event = #"[{"operation":"add","changes":{"kind":"book"}}]"#
      let piped = try run("/bin/bash", ["-c", #""$0" commit "$1" <(echo "$2")"#, journalPath, path, event])
      #expect(piped.code == 0, "\(String(decoding: piped.error, as: UTF8.self))")
      #expect(try commit(path, event, "-").code == 0)
      try check(
        "commit", path, folder.path("none.json"), code: 2, says: "none.json can't be read: No such file")
      try check("commit", path, folder.path(""), code: 2, says: "can't be read: Is a directory")
      #expect(try journal("log", path, "--json").output.split(separator: "\n").count == 2)
    }
  }

  /// It used to say that everything was as requested already.
  @Test func aRevertOfARevertedEntryNamesLaterChanges() throws {
    try withJournal { _, path in
      func set(_ number: Int) -> String {
        #"[{"operation":"update","entity":"item:1","changes":{"attributes":{"n":\#(number)}}}]"#
      }
      _ = try commit(path, #"[{"operation":"add","changes":{"kind":"k","attributes":{"n":1}}}]"#)
      _ = try commit(path, set(2))
      #expect(try journal("revert", path, "2").code == 0)
      #expect(try journal("revert", path, "2").output.hasPrefix("nothing to do: everything is as requested"))
      _ = try commit(path, set(3))
      let again = try journal("revert", path, "2")
      #expect(again.code == 1 && again.output == "", "\(again)")
      #expect(again.error.contains("entry 2 was reverted already, and later entries changed the same fields"))
      #expect(try journal("revert", path, "2", "--force").code == 0)
      #expect(try journal("cat", path, "item:1.n").output == "1\n")
    }
  }

  /// It used to count as success.
  @Test func aClosedStandardOutputIsAnError() throws {
    try withJournal { _, path in
      _ = try commit(path, #"[{"operation":"add","changes":{"kind":"book"}}]"#)
      for verb in [["log", path], ["backup", path, "-", "--file"], ["stat", path]] {
        let closed = try run("/bin/bash", ["-c", #"exec "$0" "$@" >&-"#, journalPath] + verb)
        #expect(closed.code == 3, "\(verb): \(String(decoding: closed.error, as: UTF8.self))")
      }
      #expect(try journal("verify", path).code == 0)
    }
  }

  @Test func eventsFromStandardInputAreMadeOrNothingIs() throws {
    try withJournal { folder, path in
      let add = #"[{"operation":"add","changes":{"kind":"book","attributes":{"title":"Dun"}}}]"#
      let added = try commit(path, add, "--by", "ana", "--note", "first", "--json")
      #expect(added.code == 0 && added.output.hasPrefix(#"{"revision":1,"#), "\(added)")
      #expect(added.output == (try journal("log", path, "--json").output))
      #expect(added.output.contains(#""author":"ana","note":"first""#))
      let update =
        #"[{"operation":"update","entity":"item:1","previous":1,"changes":{"attributes":{"title":"Dune"}}}]"#
      #expect(try commit(path, update).output == "entry 2: 1 entity changed\n~ item:1\n")
      // Someone has changed it since.
      let conflict = try commit(path, update)
      #expect(conflict.code == 1 && conflict.error.contains("was last changed by revision 2, not by 1"))
      let same = #"[{"operation":"update","entity":"item:1","changes":{"attributes":{"title":"Dune"}}}]"#
      #expect(
        try commit(path, same)
          == Outcome(code: 0, output: "nothing to do: everything is as requested already\n", error: ""))
      #expect(try commit(path, same, "--json").output == "{\"revision\":null}\n")
      // The second event can't be made, so the first one is not either.
      let half =
        #"[{"operation":"delete","entity":"item:1"},{"operation":"delete","entity":"item:9"}]"#
      let refused = try commit(path, half)
      #expect(refused.code == 1 && refused.error.contains("item:9"), "\(refused)")
      #expect(try journal("show", path, "item:1").code == 0)
      for (text, words) in [
        (#"{"events":[]}"#, "there is nothing to commit"),
        (#"[{"operation":"update","entity":"item:1","changes":{"atributes":{}}}]"#, "atributes"),
        (#"{"events":[{"operation":"delete","entity":"item:1"}],"autor":"ana"}"#, "autor"),
        ("[", "can't be read: line 1"), ("", "can't be read: line 1"),
        (
          #"[{"operation":"update","entity":"item:1","changes":{"attributes":{"n":123456789012345678901}}}]"#,
          "column 71 (byte 70): a number with more digits than can be kept"
        ),
        ("7", "the body is an object"),
        (
          #"[{"operation":"add","entity":"image","changes":{"item":1,"file":"/no/such.png"}}]"#,
          "/no/such.png"
        ),
        (
          #"[{"operation":"add","entity":"item","changes":{"kind":"book","category":"category:1"}}]"#,
          #"or the number of one that exists, such as "category":1"#
        ),
      ] {
        let wrong = try commit(path, text)
        #expect(wrong.code == 2 && wrong.output == "" && wrong.error.contains(words), "\(text): \(wrong)")
      }
      // A wrong event after an image leaves no bytes behind.
      let image = try write(Data("cover".utf8), "cover.png", folder)
      let late =
        #"[{"operation":"add","entity":"image","changes":{"item":1,"file":"\#(image.path)"}},{"operation":"ad"}]"#
      #expect(try commit(path, late).code == 2)
      #expect(try FileManager.default.contentsOfDirectory(atPath: path + "/images") == [])
      #expect(try journal("commit", path, "/no/such.json").code == 2)
      #expect(try commit(path, #"[{"operation":"delete","entity":"item:1"}]"#).output.hasSuffix("- item:1\n"))
      #expect(try journal("verify", path).code == 0)
      #expect(try journal("log", path, "--json").output.split(separator: "\n").count == 3)
    }
  }

  #if os(Linux)
    /// The message named only the failure, so a script made the entry twice.
    @Test(.enabled(if: compiler != nil, "a compiler makes the library with the failing call"))
    func anEntryIsPrintedIfClosingFails() throws {
      try withJournal { folder, path in
        let source = try write(
          Data(
            #"""
            #define _GNU_SOURCE
            #include <dlfcn.h>
            #include <errno.h>
            #include <string.h>
            #include <stdio.h>
            #include <unistd.h>
            static int count;
            static int fails(int file) {
              char link[64], name[4096];
              snprintf(link, sizeof link, "/proc/self/fd/%d", file);
              ssize_t length = readlink(link, name, sizeof name - 1);
              name[length < 0 ? 0 : length] = 0;
              // The first flush is that of opening, the second that of closing.
              return strstr(name, "/HEAD") != NULL && ++count > 1;
            }
            int fsync(int file) {
              if (fails(file)) return errno = EIO, -1;
              return ((int (*)(int))dlsym(RTLD_NEXT, "fsync"))(file);
            }
            int fdatasync(int file) {
              if (fails(file)) return errno = EIO, -1;
              return ((int (*)(int))dlsym(RTLD_NEXT, "fdatasync"))(file);
            }
            """#.utf8), "fail.c", folder)
        let library = folder.path("fail.so")
        let built = try run(try #require(compiler), ["-shared", "-fPIC", "-o", library, source.path, "-ldl"])
        #expect(built.code == 0, "\(String(decoding: built.error, as: UTF8.self))")
        let events = try write(
          Data(#"[{"operation":"add","changes":{"kind":"book"}}]"#.utf8), "events.json", folder)
        let update = try write(
          Data(#"[{"operation":"update","entity":"item:1","changes":{"attributes":{"a":1}}}]"#.utf8),
          "update.json", folder)
        #expect(try journal("commit", path, events.path).code == 0)
        #expect(try journal("commit", path, update.path).code == 0)
        var entry = 2
        for words in [
          ["commit", path, events.path], ["commit", path, events.path, "--json"],
          ["restore", path, "item:1", "--at", "1"], ["revert", path, "3", "--json"],
          ["undo", path], ["redo", path, "--json"], ["tag", path, "here"], ["tag", path, "there", "--json"],
          ["tag", path, "here", "--delete"],
        ] {
          entry += 1
          let result = try journal(words, environment: ["LD_PRELOAD": library])
          let (output, error) = (result.output, result.error)
          #expect(
            try journal("log", path, "-n1", "--json").output.contains("\"revision\":\(entry),"), "\(words)")
          #expect(result.code == 3, "\(words): \(error)")
          #expect(error.contains("entry \(entry) was committed, but "), "\(words): \(error)")
          #expect(error.contains("HEAD"), "\(words): \(error)")
          let shown =
            words[0] == "tag" ? words[2] : words.contains("--json") ? ":\(entry)," : "entry \(entry)"
          #expect(output.contains(shown), "\(words): \(output)")
        }
        #expect(try journal("verify", path).code == 0)
      }
    }
  #endif

  /// The exit code said that the journal could not be written, although the entry was in it.
  @Test func anEntryIsNamedIfItsResultCanNotBePrinted() throws {
    try withJournal { folder, path in
      let events = Data(#"[{"operation":"add","changes":{"kind":"book"}}]"#.utf8)
      let file = try write(events, "events.json", folder)
      for words in [
        "commit '\(path)' '\(file.path)'", "revert '\(path)' 1", "undo '\(path)'", "tag '\(path)' here",
        "tag '\(path)' --delete here", "erase '\(path)' item:1 --reason law",
        "prune '\(path)' --before HEAD~1",
      ] {
        let full = try run("bash", ["-c", "'\(journalPath)' \(words) > /dev/full"])
        let entry = try journal("log", path, "-n1", "--json").output.prefix { $0 != "," }.dropFirst(12)
        #expect(
          String(decoding: full.error, as: UTF8.self).contains(
            "entry \(entry) was committed, but the results can't be written to standard output"),
          "\(words): \(String(decoding: full.error, as: UTF8.self))")
        #expect(full.code == 3)
      }
    }
  }
}
