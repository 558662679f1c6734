import CatalogModel
import Foundation
import JournalMaintenance
import TestSupport
import Testing

/// Other programs, which know nothing of this one, can read snapshots.
@Suite struct SnapshotReadersTests {
  /// A script that uses only what the archive says about itself, and prints what `replay --json` prints.
  private static let script = """
    import base64, datetime, json, math, plistlib, struct, sys

    def value(x):
        if isinstance(x, plistlib.UID):
            x = objects[x.data]
            if isinstance(x, str) and x == "$null": return None
        if isinstance(x, bytes): return {"$data": base64.b64encode(x).decode()}
        if not isinstance(x, dict): return x
        name = objects[x["$class"].data]["$classname"]
        if name == "NSDictionary":
            keys = [value(key) for key in x["NS.keys"]]
            assert not any(key.startswith("$") and key[1:2] != "$" for key in keys), keys
            return {key.removeprefix("$"): value(member) for key, member in zip(keys, x["NS.objects"])}
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

    # The next item of CBOR: a value, and for the values of other keys a Same.
    class Same(int): pass

    class Items:
        def __init__(self, data): self.data, self.place = data, 0
        def take(self, count):
            self.place += count
            return self.data[self.place - count:self.place]
        def more(self): return self.place < len(self.data)
        def next(self):
            first, = self.take(1)
            major, low = first >> 5, first & 31
            if major == 7:
                if low < 20: return Same(low + 1)
                if low < 23: return [False, True, None][low - 20]
                return struct.unpack(">" + {25: "e", 26: "f", 27: "d"}[low], self.take(1 << low - 24))[0]
            count = low if low < 24 else int.from_bytes(self.take(1 << low - 24), "big")
            if major == 0: return count
            if major == 1: return -1 - count
            if major == 2: return self.take(count)
            if major == 3: return self.take(count).decode()
            if major == 4: return [self.next() for _ in range(count)]
            if major == 5: return {self.next(): self.next() for _ in range(count)}
            assert major == 6 and count == 2001
            date = datetime.datetime(2001, 1, 1) + datetime.timedelta(seconds=self.next())
            return {"$date": date.isoformat(timespec="microseconds") + "Z"}

    def coded(x):
        if isinstance(x, bytes): return {"$data": base64.b64encode(x).decode()}
        if isinstance(x, list): return [coded(element) for element in x]
        if isinstance(x, dict): return {key: coded(element) for key, element in x.items()}
        return x

    # The entities of a kind in a layer's blocks.
    def unpacked(root, kind):
        names, entities = root["fields"][kind], []
        for block in root["entities"][kind]:
            parts = Items(base64.b64decode(block["$data"]))
            heads, records = Items(parts.next()), Items(parts.next())
            assert not parts.more()
            number, created, before = 0, 0, {}
            while heads.more():
                number += heads.next()
                created += heads.next()
                modified = created + heads.next()
                size = heads.next()
                if size < 0: size, before = -1 - size, {}
                content = Items(records.take(size))
                place = content.next()
                if place == 0: record, before = content.next(), {}
                else:
                    keys, record = root["keys"][kind][place - 1], {}
                    while len(record) < len(keys):
                        found = content.next()
                        if isinstance(found, Same):
                            for key in keys[len(record):][:found]: record[key] = before[key]
                        else: record[keys[len(record)]] = found
                    before = record
                assert not content.more()
                entity = {"number": number, "created": created, "modified": modified}
                for key, found in record.items():
                    if isinstance(key, int): entity[names[key]] = coded(found)
                    else: entity.setdefault("attributes", {})[key] = coded(found)
                entities.append(entity)
            assert not records.more()
        return entities

    # The 16 bytes by which a value is compared first, and the rest of a long one.
    def key(x, of_array=0):
        def compared(number, real, more=0):
            bits = struct.unpack(">Q", struct.pack(">d", real or 0.0))[0]
            bits = bits ^ (2**64 - 1) if bits >> 63 else bits | 1 << 63
            return struct.pack(">BQH5x", number | of_array, bits, more), b""
        def bytewise(number, data):
            return bytes([number | of_array]) + data[:14].ljust(14, b"\\0") + bytes([min(len(data), 15)]), data[14:]
        if x is None: return bytes([of_array]).ljust(16, b"\\0"), b""
        if isinstance(x, bool): return bytes([1 | of_array]).ljust(15, b"\\0") + bytes([x]), b""
        if isinstance(x, int):
            real = float(x)
            if int(real) > x: real = math.nextafter(real, -math.inf)
            return compared(2, real, x - int(real))
        if isinstance(x, float): return compared(2, x)
        if isinstance(x, str): return bytewise(4, x.encode())
        if isinstance(x, dict) and "$data" in x: return bytewise(5, base64.b64decode(x["$data"]))
        if isinstance(x, dict) and "$date" in x:
            date = datetime.datetime.fromisoformat(x["$date"][:-1])
            return compared(3, (date - datetime.datetime(2001, 1, 1)).total_seconds())
        return bytes([6 | of_array]).ljust(16, b"\\0"), b""

    # A declared index has a line for each version of its entities, in the order of their values.
    def check_index(index):
        field = root["fields"][index["kind"]][index["field"]]
        expected = set()
        for entity in root["entities"][index["kind"]]:
            if entity.get(field) != index["text"]: continue
            found = entity.get("attributes", {})
            for name in index["path"]: found = found.get(name) if isinstance(found, dict) else None
            keys = [key(found)] + [key(x, 128) for x in (found if isinstance(found, list) else [])]
            expected |= {(head, rest, entity["number"], entity["modified"]) for head, rest in keys}
        lines, rests = (base64.b64decode(index[name]["$data"]) for name in ("lines", "rests"))
        def rest(place):
            if place == 0: return b""
            count, = struct.unpack_from(">I", rests, place - 1)
            return rests[place + 3:place + 3 + count]
        packed = struct.iter_unpack(">16s3" + {4: "I", 8: "Q"}[lines[0]], lines[1:])
        assert [(head, rest(place), n, r) for head, n, r, place in packed] == sorted(expected), index["path"]
        return len(expected)

    # Layer by layer, the oldest first: what a newer one has counts.
    newest, lines, indexed = {}, {}, 0
    for path in sys.argv[1:]:
        archive = plistlib.load(open(path, "rb"))
        objects = archive["$objects"]
        root = value(archive["$top"]["root"])
        assert "NSKeyedArchiver" in root["about"]
        for kind in root["kinds"]:
            if root["format"] == 3:
                firsts = rows(root["blocks"][kind], 3)
                assert len(firsts) == len(root["entities"][kind]) + bool(firsts)
                entities = root["entities"][kind] = unpacked(root, kind)
                versions = [(e["number"], e["modified"]) for e in entities]
                assert versions == sorted(versions) and set(first[:2] for first in firsts) <= set(versions)
                assert not firsts or firsts[-1][:2] == versions[-1]
            else:
                entities = root["entities"][kind]
                assert [(e["number"], e["modified"]) for e in entities] == rows(root["versions"][kind], 2)
            changes = [(e["modified"], e["number"], e) for e in entities]
            changes += [(revision, number, None) for number, revision in rows(root["deleted"][kind], 2)]
            for _, number, entity in sorted(changes, key=lambda change: change[0]): newest[kind, number] = entity
        for name in root["indexes"]:
            for group, member, time in rows(root["indexes"][name], 3): lines[name, group, member] = time % 2
        indexed += sum(map(check_index, root.get("valueIndexes", [])))
    assert indexed > 300, indexed

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
      let found = try run(#require(Programs.python), [script, file])
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
      var policy = LayerPolicy.automatic
      policy.eventCount = 20
      policy.additionsPerEvent = 1
      policy.fanout = 8
      let journal = try CatalogJournal.open(
        at: URL(filePath: path), options: JournalOptions(layers: policy))
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
      let found = try run(
        #require(Programs.python), [script, whole] + layers.map { "\(path)/snapshots/\($0)" })
      #expect(String(decoding: found.error, as: UTF8.self) == "")
      let expected = try run(journalPath, ["replay", path, "--json", "--from-start", "--at", "\(revision)"])
      let left = try #require(try JSONSerialization.jsonObject(with: found.output) as? NSDictionary)
      let right = try #require(try JSONSerialization.jsonObject(with: expected.output) as? NSDictionary)
      #expect(left == right)
    }
  }

  @Test(.enabled(if: Programs.plutil != nil, "plutil is missing"))
  func plutilAcceptsASnapshot() throws {
    try withTemporaryFolder { folder in
      let (_, file) = try makeSnapshot(folder)
      let result = try run(#require(Programs.plutil), ["-lint", file])
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
            "inner": .dictionary(["a": .string("$null"), "b": .dictionary([:])]), "$class": .string("own"),
            "objects": [["$class": "Person", "$$id": 1, "$": 2, "$null": 3]],
          ])
      }
    }
    try journal.state.buildIndexes(of: SnapshotReadersRow.self)
    let snapshot = try journal.takeSnapshot()
    try journal.close()
    return (path, snapshot.url.path)
  }
}

/// A type of the rows that declares indexes.
private struct SnapshotReadersRow: CatalogItem {
  static let kind = "row"
  static let indexes = [
    Index(\SnapshotReadersRow.name), Index(\.number), Index(\.real), Index(\.flag), Index(\.list),
    Index(\.when),
    Index(\.turn),
  ]

  var name: String
  var number: Int
  var real: Double
  var flag: Bool
  var list: [Double]
  var when: Date
  var turn: Int?
}

/// The class that an app without this package would write to read a snapshot.
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
