import Foundation
import KeyedArchiving

/// A Python program that reads archives with `plistlib` and prints a line for each entry of each object table: the
/// class, the fields and, for known classes, their meaning. ``referenceText(_:)`` gives the same lines from our reader.
let referenceScript = #"""
  import plistlib, struct, sys
  def uids(v, xml):
    if xml and isinstance(v, dict) and len(v) == 1 and type(v.get('CF$UID')) is int:
      n = v['CF$UID']
      return plistlib.UID(n if 0 <= n < 2**32 else 2**32 - 1)
    if isinstance(v, dict): return {k: uids(x, xml) for k, x in v.items()}
    if isinstance(v, list): return [uids(x, xml) for x in v]
    return v
  def real(x): return "r%x" % struct.unpack('>Q', struct.pack('>d', x))[0]
  def varints(b):
    out, n, s = [], 0, 0
    for c in b:
      n |= (c & 127) << s
      s += 7
      if c < 128: out.append(n); n = s = 0
    assert s == 0
    return out
  class Archive:
    def __init__(self, plist): self.objects = plist['$objects']; self.top = plist['$top']
    def get(self, v):
      if isinstance(v, plistlib.UID):
        if v.data == 0: return None
        v = self.objects[v.data]
        assert not isinstance(v, plistlib.UID)
        if v == '$null': return None
      return v
    def is_object(self, v): return isinstance(v, dict) and '$class' in v
    def text(self, v):
      inner = self.get(v)
      if isinstance(v, plistlib.UID) and self.is_object(inner):
        self.chain(inner)
        return "#%d" % v.data
      return self.plain(inner)
    def plain(self, v):
      if v is None: return "n"
      if isinstance(v, bool): return "b1" if v else "b0"
      if isinstance(v, int): return "i%d" % v
      if isinstance(v, float): return real(v)
      if isinstance(v, str): return "s" + v.encode('utf-8', 'replace').hex()
      if isinstance(v, bytes): return "D" + v.hex()
      if isinstance(v, list): return "[" + " ".join(self.text(x) for x in v) + "]"
      if isinstance(v, dict):
        return "{" + " ".join(sorted(self.plain(k) + "=" + self.text(x) for k, x in v.items())) + "}"
      return "?"
    def chain(self, o):
      assert isinstance(o['$class'], plistlib.UID)
      c = self.get(o['$class'])
      assert isinstance(c['$classname'], str)
      return [c['$classname']], c.get('$classes', []), c.get('$classhints', [])
    def string(self, v):
      v = self.get(v)
      if isinstance(v, dict): v = self.get(v['NS.string']) if 'NS.string' in v else v['NS.bytes'].decode()
      assert isinstance(v, str)
      return v
    def data(self, v):
      v = self.get(v)
      if isinstance(v, dict): v = self.get(v['NS.data'])
      assert isinstance(v, bytes)
      return v
    def members(self, o, key='NS.objects', old='NS.object.'):
      if key in o:
        assert isinstance(o[key], list)
        return o[key]
      found = {int(k[len(old):]): x for k, x in o.items() if k.startswith(old)}
      return [found[i] for i in range(len(found))]
    def meaning(self, o):
      name, classes, hints = self.chain(o)
      kinds = name + classes + hints
      # A class may be known by its name alone.
      kinds += [k.replace('NSMutable', 'NS', 1) for k in kinds if k.startswith('NSMutable')]
      def isa(*names): return any(n in kinds for n in names)
      g = lambda k: self.get(o[k])
      if isa('NSArray', 'NSOrderedSet'): return "array " + " ".join(map(self.text, self.members(o)))
      if isa('NSCountedSet'):
        n = o['NS.count']
        return "counted " + " ".join(
          self.text(o['NS.object%d' % i]) + "*%d" % o['NS.count%d' % i] for i in range(n))
      if isa('NSSet'): return "array " + " ".join(map(self.text, self.members(o)))
      if isa('NSDictionary'):
        ks, vs = self.members(o, 'NS.keys', 'NS.key.'), self.members(o)
        assert len(ks) == len(vs)
        return "pairs " + " ".join(self.text(k) + "=" + self.text(v) for k, v in zip(ks, vs))
      if isa('NSString'): return "string " + self.plain(self.string(o))
      if isa('NSData'): return "data " + self.data(o).hex()
      if isa('NSDate'): return "date " + real(float(g('NS.time')))
      if isa('NSUUID'):
        assert len(g('NS.uuidbytes')) == 16
        return "uuid " + g('NS.uuidbytes').hex()
      if isa('NSURL'):
        assert g('NS.base') is None or g('NS.base') is not o
        return "url " + self.plain(self.string(o['NS.relative']))
      if isa('NSColor', 'UIColor'): return "color " + self.color(o)
      if isa('CLLocation'):
        p = 'kCLLocationCodingKey'
        return "location " + " ".join(real(float(g(p + k))) for k in (
          'CoordinateLatitude', 'CoordinateLongitude', 'Altitude', 'HorizontalAccuracy', 'Timestamp'))
      if isa('NSIndexPath'):
        n = g('NSIndexPathLength')
        path = [] if n == 0 else [g('NSIndexPathValue')] if n == 1 else varints(self.data(o['NSIndexPathData']))
        return "path " + " ".join(map(str, path))
      if isa('NSIndexSet'):
        n = g('NSRangeCount')
        flat = [] if n == 0 else [g('NSLocation'), g('NSLength')] if n == 1 else varints(
          self.data(o['NSRangeData']))
        return "set " + " ".join("%d-%d" % (a, a + b) for a, b in zip(flat[::2], flat[1::2]))
      if isa('NSAttributedString'):
        runs, start = [], 0
        attributes = self.get(o.get('NSAttributes', plistlib.UID(0)))
        if 'NSAttributeInfo' in o:
          flat, choices = varints(self.data(o['NSAttributeInfo'])), self.members(attributes)
          for length, choice in zip(flat[::2], flat[1::2]):
            d = self.get(choices[choice])
            runs.append("%d-%d %s" % (start, start + length, self.meaning(d)))
            start += length
        return "attributed " + self.plain(self.string(o['NSString'])) + " " + "; ".join(runs)
      fields = [(k[1:] if k.startswith('$$') else k, v) for k, v in o.items() if k != '$class']
      return "fields " + " ".join(k.encode().hex() + "=" + self.text(v) for k, v in sorted(fields, key=lambda f: f[0].encode()))
    def color(self, o):
      g = lambda k: self.get(o[k])
      def part(k): return float(g(k + '-Double')) if k + '-Double' in o else float(g(k))
      if 'UIRed' in o: parts = [part('UIRed'), part('UIGreen'), part('UIBlue'), part('UIAlpha')]
      elif 'UIWhite' in o: parts = [part('UIWhite'), part('UIAlpha')]
      else:
        key = [k for k in ('NSComponents', 'NSRGB', 'NSWhite') if k in o][0]
        parts = [float(x) for x in g(key).rstrip(b'\0').split()]
        if len(parts) in (1, 3): parts.append(1.0)
      return " ".join(map(real, parts))
  def lines(path):
    try:
      raw = open(path, 'rb').read()
      archive = Archive(uids(plistlib.loads(raw), not raw.startswith(b'bplist')))
      assert isinstance(archive.objects, list) and isinstance(archive.top, dict)
    except Exception: return ["refused"]
    out = []
    for uid in range(1, len(archive.objects)):
      v = archive.objects[uid]
      try:
        if archive.is_object(v):
          name, classes, hints = archive.chain(v)
          line = "%s(%s)(%s) %s" % (name[0], ",".join(classes), ",".join(hints), archive.meaning(v))
        else:
          line = archive.text(plistlib.UID(uid))
      except Exception: line = "error"
      out.append("%d %s" % (uid, line))
    return out
  for path in sys.argv[1:]:
    print(path)
    for line in lines(path): print(line)
  """#

/// The lines that ``referenceScript`` prints for a file, made with our reader.
func referenceText(_ url: URL) -> [String] {
  guard let archive = try? KeyedArchive(ArchiveBytes(contentsOf: url)) else { return ["refused"] }
  return (1..<max(1, archive.objectCount)).map { uid in
    do {
      let value = try archive.object(uid)
      guard case .object(let object) = value else { return "\(uid) \(try plain(value))" }
      let names = "\(object.className)(\(object.classChain.joined(separator: ",")))"
      return "\(uid) \(names)(\(object.classHints.joined(separator: ","))) \(try meaning(value, object))"
    } catch { return "\(uid) error" }
  }
}

private func hex(_ bytes: some Sequence<UInt8>) -> String {
  bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
}

private func bits(_ number: Double) -> String { "r" + String(number.bitPattern, radix: 16) }

private func plain(_ value: ArchivedValue) throws -> String {
  switch value {
  case .null: "n"
  case .bool(let value): value ? "b1" : "b0"
  case .integer(let value): "i\(value)"
  case .unsigned(let value): "i\(value)"
  case .real(let value): bits(value)
  case .string(let value): "s" + hex(value.utf8)
  case .data(let value): "D" + hex(value)
  case .date: "?"
  case .array(let array): "[" + (try array.elements().map(plain).joined(separator: " ")) + "]"
  case .dictionary(let pairs):
    "{"
      + (try pairs.pairs().map { try plain($0.key) + "=" + plain($0.value) }.sorted().joined(separator: " "))
      + "}"
  case .object(let object): "#\(object.uid)"
  }
}

private func pairs(_ dictionary: ArchivedDictionary) throws -> String {
  "pairs " + (try dictionary.pairs().map { try plain($0.key) + "=" + plain($0.value) }.joined(separator: " "))
}

/// The meaning of an object, by the first view that applies.
private func meaning(_ value: ArchivedValue, _ object: ArchivedObject) throws -> String {
  if let set = try value.countedSet {
    let members = try set.members.elements().map(plain)
    return "counted " + zip(members, set.counts).map { "\($0)*\($1)" }.joined(separator: " ")
  }
  if object.isKind(of: "NSArray"), let array = try value.array {
    return "array " + (try array.elements().map(plain).joined(separator: " "))
  }
  if let set = try value.set { return "array " + (try set.elements().map(plain).joined(separator: " ")) }
  if let dictionary = try value.dictionary { return try pairs(dictionary) }
  if let string = try value.string { return "string s" + hex(string.utf8) }
  if let data = try value.data { return "data " + hex(data) }
  if let seconds = try value.secondsSince2001 { return "date " + bits(seconds) }
  if let uuid = try value.uuid {
    return "uuid " + uuid.uuidString.replacingOccurrences(of: "-", with: "").lowercased()
  }
  if let texts = try value.urlTexts { return "url s" + hex(texts[0].utf8) }
  if let color = try value.color {
    return "color " + (color.components + [color.alpha]).map(bits).joined(separator: " ")
  }
  if let place = try value.location {
    let numbers = [
      place.latitude, place.longitude, place.altitude ?? 0, place.horizontalAccuracy ?? 0,
      place.timestamp?.timeIntervalSinceReferenceDate ?? 0,
    ]
    return "location " + numbers.map(bits).joined(separator: " ")
  }
  if let path = try value.indexPath { return "path " + path.map(String.init).joined(separator: " ") }
  if let set = try value.indexSet {
    return "set " + set.map { "\($0.lowerBound)-\($0.upperBound)" }.joined(separator: " ")
  }
  if let string = try value.attributedString {
    let runs = try string.runs.map {
      "\($0.range.lowerBound)-\($0.range.upperBound) " + (try pairs($0.attributes))
    }
    return "attributed s" + hex(string.string.utf8) + " " + runs.joined(separator: "; ")
  }
  let fields = try object.keys.map { (key: $0, text: try plain(object[$0] ?? .null)) }
  return "fields "
    + fields.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
    .map { hex($0.key.utf8) + "=" + $0.text }.joined(separator: " ")
}
