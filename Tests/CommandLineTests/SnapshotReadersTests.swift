import CatalogModel
import Foundation
import TestSupport
import Testing

/// Snapshots can be read by other programs, which know nothing of this one.
@Suite struct SnapshotReadersTests {
  /// Finds its way by what the archive says of itself, and prints what `replay --json` prints.
  private static let script = """
    import base64, datetime, json, plistlib, struct, sys

    def value(x):
        if isinstance(x, plistlib.UID):
            x = objects[x.data]
            if isinstance(x, str) and x == "$null": return None
        if isinstance(x, bytes): return {"$data": base64.b64encode(x).decode()}
        if not isinstance(x, dict): return x
        name = objects[x["$class"].data]["$classname"]
        if name == "NSDictionary": return dict(zip(map(value, x["NS.keys"]), map(value, x["NS.objects"])))
        if name == "NSArray": return [value(element) for element in x["NS.objects"]]
        if name == "NSMutableString": return x["NS.string"]
        if name == "NSNull": return None
        if name == "NSDate":
            date = datetime.datetime(2001, 1, 1) + datetime.timedelta(seconds=x["NS.time"])
            return {"$date": date.isoformat(timespec="microseconds") + "Z"}
        return {key: value(field) for key, field in x.items() if key != "$class"}

    def rows(data, columns):
        data = base64.b64decode(data["$data"])
        size = ">" + {4: "I", 8: "Q"}[data[0]] * columns
        return list(struct.iter_unpack(size, data[1:]))

    # Layer by layer, the oldest first: what a newer one has counts.
    newest, lines = {}, {}
    for path in sys.argv[1:]:
        archive = plistlib.load(open(path, "rb"))
        objects = archive["$objects"]
        root = value(archive["$top"]["root"])
        assert "NSKeyedArchiver" in root["about"]
        for kind in root["kinds"]:
            entities = root["entities"][kind]
            assert [(e["number"], e["modified"]) for e in entities] == rows(root["versions"][kind], 2)
            changes = [(e["modified"], e["number"], e) for e in entities]
            changes += [(revision, number, None) for number, revision in rows(root["deleted"][kind], 2)]
            for _, number, entity in sorted(changes, key=lambda change: change[0]): newest[kind, number] = entity
        for name in root["indexes"]:
            for group, member, time in rows(root["indexes"][name], 3): lines[name, group, member] = time % 2

    def there(kind):
        return [newest[key] for key in sorted(newest) if key[0] == kind and newest[key]]

    def common(entity):
        return {"id": entity["number"], "created": entity["created"], "modified": entity["modified"]}

    def color(parts):
        return parts and "#" + "".join("%02X" % round(255 * part) for part in parts)

    images = {}
    for name, item, image in sorted(lines):
        if name == "imagesByItem" and lines[name, item, image]: images.setdefault(item, []).append(image)
    print(json.dumps({
        "revision": root["revision"], "date": root["date"]["$date"], "digest": root["digest"],
        "categories": [
            common(c) | {"name": c["name"], "color": color(c.get("color"))}
            for c in there("category")],
        "items": [
            common(i) | {"kind": i["kind"], "category": i.get("category"),
                         "attributes": i.get("attributes", {}), "images": images.get(i["number"], [])}
            for i in there("item")],
        "images": [
            common(m) | {"item": m["item"], "name": m["name"], "mediaType": m["mediaType"],
                         "byteCount": m["byteCount"],
                         "sha256": base64.b64decode(m["sha256"]["$data"]).hex()}
            for m in there("image")],
    }))
    """

  @Test(.enabled(if: isPythonThere, "python3 is missing"))
  func pythonReadsWhatTheReplayPrints() throws {
    try withTemporaryFolder { folder in
      let (path, file) = try makeSnapshot(folder)
      let script = folder.path("read.py")
      try Self.script.write(toFile: script, atomically: true, encoding: .utf8)
      let found = try run("python3", [script, file])
      #expect(String(decoding: found.error, as: UTF8.self) == "")
      let expected = try run(journalPath, ["replay", path, "--json", "--from-start"])
      let left = try #require(try JSONSerialization.jsonObject(with: found.output) as? NSDictionary)
      let right = try #require(try JSONSerialization.jsonObject(with: expected.output) as? NSDictionary)
      #expect(left == right)
      #expect((right["items"] as? [Any])?.count == 301)
    }
  }

  @Test(.enabled(if: isPythonThere, "python3 is missing"))
  func pythonRebuildsAStackOfLayers() throws {
    try withTemporaryFolder { folder in
      let (path, whole) = try makeSnapshot(folder)
      var policy = SnapshotPolicy.automatic
      policy.eventCount = 20
      policy.fanout = 8
      let journal = try CatalogJournal.open(
        at: URL(filePath: path), options: JournalOptions(snapshots: policy))
      for turn in 0..<200 {
        try journal.commit { draft in
          let item = 3 + turn % 40
          switch turn % 4 {
          case 0: try draft.updateItem(EntityID(item + 100), set: ["turn": .integer(Int64(turn))])
          case 1: try draft.setCategory(ofItem: EntityID(item + 150), to: turn % 8 == 1 ? 1 : nil)
          case 2: try draft.deleteItem(EntityID(200 + turn / 2))
          default: _ = try draft.addItem(kind: "late \(turn % 5)", category: 1)
          }
        }
        if turn % 40 == 39 { journal.waitForLayers() }
      }
      let revision = try journal.statistics().newestCheckpoint
      let layers = try journal.snapshotFileNames().filter { $0.hasSuffix(".plist") && $0.contains("-") }
      #expect(layers.count > 1 && revision > 100)
      try journal.close()
      let script = folder.path("read.py")
      try Self.script.write(toFile: script, atomically: true, encoding: .utf8)
      let found = try run("python3", [script, whole] + layers.map { "\(path)/snapshots/\($0)" })
      #expect(String(decoding: found.error, as: UTF8.self) == "")
      let expected = try run(journalPath, ["replay", path, "--json", "--from-start", "--at", "\(revision)"])
      let left = try #require(try JSONSerialization.jsonObject(with: found.output) as? NSDictionary)
      let right = try #require(try JSONSerialization.jsonObject(with: expected.output) as? NSDictionary)
      #expect(left == right)
    }
  }

  @Test(.enabled(if: isPlutilThere, "plutil is missing"))
  func plutilFindsNothingWrong() throws {
    try withTemporaryFolder { folder in
      let (_, file) = try makeSnapshot(folder)
      let result = try run("plutil", ["-lint", file])
      #expect(result.code == 0)
    }
  }

  @Test func foundationUnarchivesEveryEntity() throws {
    try withTemporaryFolder { folder in
      let (path, file) = try makeSnapshot(folder)
      let unarchiver = try NSKeyedUnarchiver(forReadingFrom: Data(contentsOf: URL(filePath: file)))
      unarchiver.requiresSecureCoding = false
      unarchiver.decodingFailurePolicy = .setErrorAndReturn
      for name in ["JournalItem", "JournalCategory", "JournalImage"] {
        unarchiver.setClass(UnarchivedEntity.self, forClassName: name)
      }
      let decoded = unarchiver.decodeObject(forKey: NSKeyedArchiveRootObjectKey)
      #expect(unarchiver.error == nil)
      let root = try #require(decoded as? [String: Any])
      let entities = try #require(root["entities"] as? [String: [UnarchivedEntity]])
      let journal = try CatalogJournal.open(at: URL(filePath: path), mode: .readOnly)
      let items = Array(journal.state.items)
      let found = try #require(entities["item"])
      #expect(found.map(\.number) == items.map(\.id.number))
      #expect(found.map(\.kind) == items.map(\.kind))
      #expect(found.map(\.category) == items.map { $0.category?.number ?? 0 })
      for (item, entity) in zip(items, found) {
        #expect(entity.attributes["name"] as? String == item["name"]?.text)
        #expect(entity.attributes.count == item.attributes.count)
      }
      #expect(entities["category"]?.map(\.name) == journal.state.categories.map(\.name))
      #expect(entities["image"]?.map(\.name) == journal.state.images.map(\.name))
    }
  }

  private func makeSnapshot(_ folder: TemporaryFolder) throws -> (journal: String, file: String) {
    let path = try makeFixedJournal(folder)
    let journal = try CatalogJournal.open(at: URL(filePath: path))
    try journal.commit { draft in
      for number in 0..<300 {
        try draft.addItem(
          kind: "row", category: number % 3 == 0 ? 1 : nil,
          attributes: [
            "name": .string("Name \(number) \(number % 7 == 0 ? "ß😀" : "")"),
            "number": .integer(Int64(number)),
            "real": .double(Double(number) / 8), "flag": .bool(number % 2 == 0), "none": .null,
            "list": .array([.integer(1), .bool(true), .double(1.5)]), "bytes": .data(Data([1, 2, 255])),
            "when": .date(Date(timeIntervalSinceReferenceDate: Double(number) * 1000)),
            "inner": .dictionary(["a": .string("$null"), "b": .dictionary([:])]),
          ])
      }
    }
    let snapshot = try journal.takeSnapshot()
    try journal.close()
    return (path, snapshot.url.path)
  }
}

/// What an app that never heard of journals would write to read one.
private final class UnarchivedEntity: NSObject, NSCoding {
  let number: Int
  let name: String
  let kind: String
  let category: Int
  let attributes: [String: Any]

  init?(coder: NSCoder) {
    number = coder.decodeInteger(forKey: "number")
    name = coder.containsValue(forKey: "name") ? coder.decodeObject(forKey: "name") as? String ?? "" : ""
    kind = coder.containsValue(forKey: "kind") ? coder.decodeObject(forKey: "kind") as? String ?? "" : ""
    category = coder.containsValue(forKey: "category") ? coder.decodeInteger(forKey: "category") : 0
    attributes =
      coder.containsValue(forKey: "attributes")
      ? coder.decodeObject(forKey: "attributes") as? [String: Any] ?? [:] : [:]
  }

  func encode(with coder: NSCoder) {}
}

extension FieldValue {
  fileprivate var text: String? { if case .string(let text) = self { text } else { nil } }
}

private let isPythonThere = (try? run("python3", ["--version"]))?.code == 0
// A program that is not there is 127 to who runs it.
private let isPlutilThere = (try? run("plutil", ["-help"]))?.code != 127
