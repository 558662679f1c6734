import Foundation
import KeyedArchiving

/// A value as a text that shows every kind and every bit, as `canonicalScript` prints it. Dictionaries are sorted, the
/// last of equal keys counts, and dates are in milliseconds.
func canonicalText(_ value: PropertyListValue) -> String {
  switch value {
  case .null: "n"
  case .bool(let value): value ? "b1" : "b0"
  case .integer(let value): "i\(value)"
  case .unsigned(let value): "i\(value)"
  case .bigInteger(let value): "i\(value)"
  case .real(let value): "r\(String(value.bitPattern, radix: 16))"
  case .date(let value): value.magnitude < 1e14 ? "d\(Int((value * 1000).rounded()))" : "d?"
  case .data(let value): "D" + value.map { String($0, radix: 16) }.joined(separator: ".")
  case .string(let value): "s" + value.utf8.map { String($0, radix: 16) }.joined(separator: ".")
  case .uid(let value): "u\(value)"
  case .array(let members): "[" + members.map(canonicalText).joined(separator: " ") + "]"
  case .set(let members): "<" + members.map(canonicalText).sorted().joined(separator: " ") + ">"
  case .dictionary(let members):
    "{"
      + Dictionary(
        members.map { (canonicalText($0.key), canonicalText($0.value)) }, uniquingKeysWith: { $1 }
      ).map { "\($0.key)=\($0.value)" }.sorted().joined(separator: " ") + "}"
  }
}

/// A Python program whose arguments are a folder and property lists. It prints a line for each list: its value, or
/// `refused`.
///
/// It also writes each list that XML can express into the folder, as XML under the number of its line.
let canonicalScript = """
  import datetime, plistlib, struct, sys
  sys.setrecursionlimit(5000)
  start = datetime.datetime(2001, 1, 1)
  def text(v, depth=0):
    global left
    left -= 1
    if left < 0: raise ValueError("too large")
    if v is None: return "n"
    if isinstance(v, bool): return "b1" if v else "b0"
    if isinstance(v, plistlib.UID): return "u%d" % v.data
    if isinstance(v, int): return "i%d" % v
    if isinstance(v, float): return "r%x" % struct.unpack(">Q", struct.pack(">d", v))[0]
    if isinstance(v, datetime.datetime): return "d%d" % round((v - start) / datetime.timedelta(milliseconds=1))
    if isinstance(v, bytes): return "D" + ".".join("%x" % b for b in v)
    if isinstance(v, str): return "s" + ".".join("%x" % b for b in v.encode("utf-8"))
    if isinstance(v, list): return "[" + " ".join(text(e) for e in v) + "]"
    return "{" + " ".join(sorted(text(k) + "=" + text(e) for k, e in v.items())) + "}"
  for number, path in enumerate(sys.argv[2:]):
    left = 1000000
    try:
      with open(path, "rb") as file: value = plistlib.load(file)
      print(text(value))
    except Exception:
      print("refused")
      continue
    try: xml = plistlib.dumps(value, sort_keys=False)
    except Exception: continue
    # It writes UIDs as dictionaries, and dates without their fractions.
    if b"CF$UID" not in xml and b"<date>" not in xml:
      with open("%s/%d" % (sys.argv[1], number), "wb") as file: file.write(xml)
  """
