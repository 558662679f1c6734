import CatalogModel
import Foundation
import TestSupport
import Testing

/// Snapshots belong to whoever has them: programs that know nothing of this one read them.
@Suite struct SnapshotReadersTests {
  /// Finds its way by what the archive says of itself, and prints what `replay --json` prints.
  private static let script = """
    import base64, datetime, json, plistlib, struct, sys

    archive = plistlib.load(open(sys.argv[1], "rb"))
    objects = archive["$objects"]

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

    root = value(archive["$top"]["root"])
    assert "NSKeyedArchiver" in root["about"]

    def pairs(data):
        data = base64.b64decode(data["$data"])
        size = {4: ">II", 8: ">QQ"}[data[0]]
        return list(struct.iter_unpack(size, data[1:]))

    def common(entity):
        return {"id": entity["number"], "created": entity["created"], "modified": entity["modified"]}

    def color(parts):
        return parts and "#" + "".join("%02X" % round(255 * part) for part in parts)

    images = {}
    for item, image in pairs(root["indexes"]["imagesByItem"]): images.setdefault(item, []).append(image)
    print(json.dumps({
        "revision": root["revision"], "date": root["date"]["$date"], "digest": root["digest"],
        "categories": [
            common(c) | {"name": c["name"], "color": color(c.get("color"))}
            for c in root["entities"]["category"]],
        "items": [
            common(i) | {"kind": i["kind"], "category": i.get("category"),
                         "attributes": i.get("attributes", {}), "images": images.get(i["number"], [])}
            for i in root["entities"]["item"]],
        "images": [
            common(m) | {"item": m["item"], "name": m["name"], "mediaType": m["mediaType"],
                         "byteCount": m["byteCount"],
                         "sha256": base64.b64decode(m["sha256"]["$data"]).hex()}
            for m in root["entities"]["image"]],
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
      #expect(found.map(\.number) == items.map(\.id))
      #expect(found.map(\.kind) == items.map(\.kind))
      #expect(found.map(\.category) == items.map { $0.category ?? 0 })
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

extension Value {
  fileprivate var text: String? { if case .string(let text) = self { text } else { nil } }
}

private let isPythonThere = (try? run("python3", ["--version"]))?.code == 0
// A program that is not there is 127 to who runs it.
private let isPlutilThere = (try? run("plutil", ["-help"]))?.code != 127
