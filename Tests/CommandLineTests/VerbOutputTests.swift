import CatalogModel
import Foundation
import TestSupport
import Testing

/// Whole outputs on a fixed journal. What differs between runs (digests, the journal's id) is replaced.
@Suite struct VerbOutputTests {
  private func expectFixed(
    _ words: [String], prints expected: String, location: SourceLocation = #_sourceLocation
  ) throws {
    try withFixedJournal { path, _ in try expect(words, in: path, prints: expected, location: location) }
  }

  @Test func logPrintsOneLineForEachEntry() throws {
    try expectFixed(
      ["log"],
      prints: """
        REVISION  DATE (UTC)           AUTHOR                CHANGES       NOTE
               3  2026-08-03 00:00:00  ana                   ~1 -1         no place after all
               2  2026-08-02 11:30:00  ben                   +1 ~1         a photo
               1  2026-08-01 10:00:00  ana                   +3            first find
        """)
    try expectFixed(
      ["log", "--reverse", "--since", "1", "--until=2026-08-02T12:00:00Z"],
      prints: """
        REVISION  DATE (UTC)           AUTHOR                CHANGES       NOTE
               2  2026-08-02 11:30:00  ben                   +1 ~1         a photo
        """)
    try expectFixed(
      ["log", "--author", "AN", "-n1"],
      prints: """
        REVISION  DATE (UTC)           AUTHOR                CHANGES       NOTE
               3  2026-08-03 00:00:00  ana                   ~1 -1         no place after all
        """)
  }

  @Test func logPrintsEntriesAsJSON() throws {
    try expectFixed(
      ["log", "--json"],
      prints: #"""
        {"revision":3,"date":"2026-08-03T00:00:00.000000Z","author":"ana","note":"no place after all",\#
        "metadata":{},"digest":"<digest>","events":[{"operation":"delete","entity":"item:2","previous":1,\#
        "changes":{}},{"operation":"update","entity":"item:1","previous":2,"changes":{"removed":["found"]}}]}
        {"revision":2,"date":"2026-08-02T11:30:00.250000Z","author":"ben","note":"a photo\n\nand its age",\#
        "metadata":{"device":"phone"},"digest":"<digest>","events":[{"operation":"add","entity":"image:1",\#
        "previous":0,"changes":{"item":1,"name":"cup.png","mediaType":"image/png","byteCount":5,\#
        "sha256":"2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"}},\#
        {"operation":"update","entity":"item:1","previous":1,"changes":{"attributes":{"age":212.5,\#
        "found":{"$date":"1970-01-01T00:00:00.000000Z"}}}}]}
        {"revision":1,"date":"2026-08-01T10:00:00.000000Z","author":"ana","note":"first find","metadata":{},\#
        "digest":"<digest>","events":[{"operation":"add","entity":"category:1","previous":0,\#
        "changes":{"name":"Cups","color":"#FF8000FF"}},{"operation":"add","entity":"item:1","previous":0,\#
        "changes":{"kind":"find","category":1,"attributes":{"age":200,"name":"blue cup"}}},\#
        {"operation":"add","entity":"item:2","previous":0,\#
        "changes":{"kind":"place","attributes":{"name":"the \u001b[31mred\nfield"}}}]}
        """#)
  }

  @Test func showPrintsAnEntry() throws {
    try expectFixed(
      ["show", "2"],
      prints: """
        entry 2
        Date:    2026-08-02T11:30:00.250000Z
        Author:  ben
        Digest:  <digest>
                 device = phone

            a photo

            and its age

        + image:1  cup.png
            item: item:1 (blue cup)
            name: cup.png
            mediaType: image/png
            sha256: 2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824
            byteCount: 5
        ~ item:1  blue cup
            age: 200 → 212.5
            found: (none) → 1970-01-01 00:00:00
        """)
    try expectFixed(
      ["show", "HEAD~2"],
      prints: #"""
        entry 1
        Date:    2026-08-01T10:00:00.000000Z
        Author:  ana
        Digest:  <digest>

            first find

        + category:1  Cups
            name: Cups
            color: #FF8000FF
        + item:1  blue cup
            kind: find
            category: category:1 (Cups)
            age: 200
            name: "blue cup"
        + item:2  the \u{1b}[31mred\nfield
            kind: place
            name: "the \u001b[31mred\nfield"
        """#)
  }

  @Test func showPrintsAnEntityAtAnyRevision() throws {
    try expectFixed(
      ["show", "item:1"],
      prints: """
        item:1 at revision 3, 2026-08-03 00:00:00 UTC
          kind          find
          category      category:1 (Cups)
          age           212.5
          name          "blue cup"
          image:1       cup.png, image/png, 5 bytes
          last changed  revision 3
        """)
    try expectFixed(
      ["show", "item:1@2026-08-01T23:00:00Z"],
      prints: """
        item:1 at revision 1, 2026-08-01 10:00:00 UTC
          kind          find
          category      category:1 (Cups)
          age           200
          name          "blue cup"
          last changed  revision 1
        """)
    try expectFixed(
      ["show", "item:1", "--json"],
      prints: """
        {"id":1,"kind":"find","category":1,"attributes":{"age":212.5,"name":"blue cup"},"images":[1],\
        "created":1,"modified":3}
        """)
    try expectFixed(
      ["show", "image:1@HEAD~1"],
      prints: """
        image:1 at revision 2, 2026-08-02 11:30:00 UTC
          item          item:1 (blue cup)
          name          cup.png
          mediaType     image/png
          sha256        2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824
          byteCount     5
          last changed  revision 2
        """)
  }

  @Test func historyPrintsEveryChangeOfAnEntity() throws {
    try expectFixed(
      ["history", "item:1"],
      prints: """
        revision 3  2026-08-03 00:00:00  ana  no place after all
        ~ item:1  blue cup
            found: 1970-01-01 00:00:00 → (none)
        revision 2  2026-08-02 11:30:00  ben  a photo
        ~ item:1  blue cup
            age: 200 → 212.5
            found: (none) → 1970-01-01 00:00:00
        revision 1  2026-08-01 10:00:00  ana  first find
        + item:1  blue cup
            kind: find
            category: category:1 (Cups)
            age: 200
            name: "blue cup"
        """)
    try expectFixed(
      ["history", "item:1", "--stat"],
      prints: """
        REVISION  DATE (UTC)           AUTHOR  CHANGE             NOTE
               3  2026-08-03 00:00:00  ana     update found       no place after all
               2  2026-08-02 11:30:00  ben     update age, found  a photo
               1  2026-08-01 10:00:00  ana     add                first find
        """)
    try expectFixed(
      ["history", "item:2", "--json"],
      prints: #"""
        {"revision":3,"entity":"item:2","date":"2026-08-03T00:00:00.000000Z","author":"ana",\#
        "note":"no place after all","event":{"operation":"delete","entity":"item:2","previous":1,"changes":{}},\#
        "changes":{"@kind":{"old":"place"},"name":{"old":"the \u001b[31mred\nfield"}}}
        {"revision":1,"entity":"item:2","date":"2026-08-01T10:00:00.000000Z","author":"ana",\#
        "note":"first find","event":{"operation":"add","entity":"item:2","previous":0,\#
        "changes":{"kind":"place","attributes":{"name":"the \u001b[31mred\nfield"}}},\#
        "changes":{"@kind":{"new":"place"},"name":{"new":"the \u001b[31mred\nfield"}}}
        """#)
  }

  @Test func replayPrintsAState() throws {
    try expectFixed(
      ["replay", "--at", "1", "--from-start"],
      prints: #"""
        revision 1, 2026-08-01 10:00:00 UTC, digest <digest>
        2 items, 1 category, 0 images

        OF        NAME    ITEMS
        kind      find        1
        kind      place       1
        category  (none)      1
        category  Cups        1

        ITEM    KIND   CATEGORY  CHANGED  ATTRIBUTES
        item:1  find   Cups            1  age=200 name="blue cup"
        item:2  place                  1  name="the \u001b[31mred\nfie…
        """#)
    try expectFixed(
      ["replay", "--at", "0"],
      prints: "revision 0, digest <digest>\n"
        + "0 items, 0 categories, 0 images")
  }

  @Test func replayPrintsAStateAsJSON() throws {
    try expectFixed(
      ["replay", "--at", "2", "--json"],
      prints: #"""
        {"revision":2,"date":"2026-08-02T11:30:00.250000Z","digest":"<digest>","categories":[{"id":1,\#
        "name":"Cups","color":"#FF8000FF","created":1,"modified":1}],"items":[{"id":1,"kind":"find",\#
        "category":1,"attributes":{"age":212.5,"found":{"$date":"1970-01-01T00:00:00.000000Z"},\#
        "name":"blue cup"},"images":[1],"created":1,"modified":2},{"id":2,"kind":"place","category":null,\#
        "attributes":{"name":"the \u001b[31mred\nfield"},"images":[],"created":1,"modified":1}],\#
        "images":[{"id":1,"item":1,"name":"cup.png","mediaType":"image/png","byteCount":5,\#
        "sha256":"2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824","created":2,"modified":2}]}
        """#)
  }

  @Test func statPrintsCountsDatesAndSizes() throws {
    try expectFixed(
      ["stat"],
      prints: """
        journal       <id>
        revision      3
        first entry   2026-08-01 10:00:00 UTC
        newest entry  2026-08-03 00:00:00 UTC
        digest        <digest>
        items         1
        categories    1
        images        1
        log           <n> bytes
        blobs         5 bytes in 1 file
        snapshots     none
        layers        none
        replayed      7 events at opening
        """)
    try expectFixed(
      ["stat", "--json"],
      prints: """
        {"id":"<id>","revision":3,"firstDate":"2026-08-01T10:00:00.000000Z",\
        "date":"2026-08-03T00:00:00.000000Z","digest":"<digest>","items":1,"categories":1,"images":1,\
        "logByteCount":<n>,"blobCount":1,"blobByteCount":5,"snapshotCount":0,"snapshotByteCount":0,\
        "newestSnapshot":null,"layerCount":0,"layerByteCount":0,"newestCheckpoint":0,"writeAmplification":0.0,\
        "replayedEventCount":7}
        """)
  }

  @Test func verifyPrintsWhatWasReadAndTheDigest() throws {
    try expectFixed(
      ["verify"],
      prints: """
        3 entries, 7 events, 1 blob, 0 layers and 0 snapshots read: all is well
        digest <digest>
        """)
    try expectFixed(
      ["verify", "--json"],
      prints: """
        {"sound":true,"entries":3,"events":7,"blobs":1,"layers":0,"snapshots":0,"checkpoints":0,"erasedEvents":0,\
        "revision":3,"digest":"<digest>","problems":[]}
        """)
  }
}
