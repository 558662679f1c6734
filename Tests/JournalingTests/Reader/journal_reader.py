"""Reads and checks a journal of format 2, written from Documentation/Format.md alone.

    journal_reader.py NAME.journal KINDS

KINDS is the number of kinds of entities in the model. Prints one JSON object with what was found, or with a member
"damaged" or "newer" that says why the journal can't be read. It knows nothing of the model's fields, and does not
look at images and snapshots.
"""
import json
import os
import re
import struct
import sys
from hashlib import sha256

import leveldb_reader
from leveldb_reader import crc32c

ERASED = object()
UNDEFINED = object()
FIRST, LAST = -62135596800000000, 253402300799999999


class Damage(Exception):
    pass


class Newer(Exception):
    pass


def sha(*parts):
    return sha256(b"".join(parts)).digest()


# CBOR, one item after the other. Lists, byte strings and numbers become Python's. A map becomes a list of pairs,
# because its order matters, each with the bytes of its key and its value.
class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, count):
        if self.at + count > len(self.data):
            raise Damage("the bytes end early")
        self.at += count
        return self.data[self.at - count:self.at]

    def head(self):
        first = self.take(1)[0]
        major, low = first >> 5, first & 31
        if low < 24:
            return major, low, low
        if low > 27:
            raise Damage("an indefinite length or a reserved form")
        width = 1 << (low - 24)
        argument = int.from_bytes(self.take(width), "big")
        if major != 7 and argument < (24 if low == 24 else 1 << (4 * width)):
            raise Damage("a head that is not in its shortest form")
        return major, low, argument

    def item(self, depth=0, undefined=False):
        if depth > 128:
            raise Damage("nested too deep")
        major, low, argument = self.head()
        if major == 0:
            return argument
        if major == 1:
            if argument >> 63:
                raise Damage("a number is too low")
            return -1 - argument
        if major == 2:
            return self.take(argument)
        if major == 3:
            return self.take(argument).decode("utf-8", "strict")
        if major == 4:
            return [self.item(depth + 1) for _ in range(argument)]
        if major == 5:
            pairs, last = [], b""
            for _ in range(argument):
                start = self.at
                key = self.item(depth + 1)
                encoded = self.data[start:self.at]
                if encoded <= last:
                    raise Damage("keys out of order")
                last, start = encoded, self.at
                value = self.item(depth + 1, undefined and depth == 0)
                pairs.append((key, value, encoded, self.data[start:self.at]))
            return pairs
        if major == 6:
            if argument == 2001:
                return ("date", self.item(depth + 1))
            if argument == 2002:
                return (ERASED, self.item(depth + 1))
            raise Damage("an unknown tag")
        if low == 23 and undefined:
            return UNDEFINED
        if low in (20, 21, 22):
            return {20: False, 21: True, 22: None}[low]
        if low in (25, 26, 27):
            return struct.unpack({25: ">e", 26: ">f", 27: ">d"}[low], argument.to_bytes(1 << (low - 24), "big"))[0]
        raise Damage("an unknown simple value")

    def end(self):
        if self.at != len(self.data):
            raise Damage("bytes behind the last item")


def known(pairs, keys):
    """The pairs of known keys; an unknown even key is of a newer version."""
    found = {}
    for key, value, _, _ in pairs:
        if type(key) is not int or key < 0:
            raise Damage("a key that is no number")
        if key in keys:
            found[key] = value
        elif key % 2 == 0:
            raise Newer("key %d is not known" % key)
    return found


def is_date(value):
    return type(value) is int and FIRST <= value <= LAST


def entry(data):
    """Header bytes, header, and parts: a byte string, or (ERASED, digest)."""
    reader = Reader(data)
    pairs = reader.item()
    end = reader.at
    if type(pairs) is not list or not pairs or type(pairs[0]) is not tuple or pairs[0][0] != 0:
        raise Damage("no header")
    if pairs[0][1] != 2:
        raise (Newer if type(pairs[0][1]) is int and pairs[0][1] > 2 else Damage)("another version")
    header = known(pairs, (0, 1, 2, 3, 4, 6, 8))
    if not all(key in header for key in (0, 2, 4, 6, 8)):
        raise Damage("a key is missing")
    if not is_date(header[2]) or not is_date(header.get(1, 0)) or len(header[6]) != 32 or header[4] < 1:
        raise Damage("a value of the header is out of range")
    parts = reader.item()
    reader.end()
    if len(parts) < 1 + len(header[8]) + (3 in header):
        raise Damage("too few parts")
    for part in parts:
        if type(part) is bytes:
            if part and len(part) < 17:
                raise Damage("a part without content")
        elif part[0] is not ERASED or type(part[1]) is not bytes or len(part[1]) != 32:
            raise Damage("a part of another form")
    return data[:end], header, parts


def content(part):
    return ERASED if type(part) is tuple else part[16:]


def record_of(data, undefined=False):
    reader = Reader(data)
    pairs = reader.item(undefined=undefined)
    reader.end()
    if any(type(key) is not str and not (type(key) is int and 0 <= key < 24) for key, _, _, _ in pairs):
        raise Damage("a key of a record that is neither a field nor a name")
    return {key: (value, raw) for _, value, key, raw in pairs}


def encode(record):
    def order(key):
        return key
    count = len(record)
    head = bytes([0xA0 | count]) if count < 24 else b"\xb8" + bytes([count]) if count < 256 else b"\xb9" + count.to_bytes(2, "big")
    return head + b"".join(key + record[key][1] for key in sorted(record, key=order))


def number(*values):
    return b"".join(value.to_bytes(8, "big") for value in values)


class State:
    def __init__(self, schema, kinds):
        self.schema, self.kinds = schema, [{"highest": 0, "there": {}, "gone": {}, "erased": set()} for _ in range(kinds)]

    def apply(self, event, part, revision):
        operation, kind, entity, previous = event
        if kind >= len(self.kinds) or operation > 2 or entity < 1:
            raise Damage("an event of an unknown kind or operation")
        table = self.kinds[kind]
        there, gone, erased = table["there"], table["gone"], table["erased"]
        newest = there[entity][1] if entity in there else gone.get(entity, 0)
        if newest != previous:
            raise Damage("the event before on %d:%d is %d, not %d" % (kind, entity, newest, previous))
        new = content(part)
        if operation == 0:
            if entity in there or (entity <= table["highest"] and previous == 0):
                raise Damage("%d:%d is added and is there" % (kind, entity))
            table["highest"] = max(table["highest"], entity)
        elif entity not in there and entity not in erased:
            raise Damage("%d:%d is changed and is not there" % (kind, entity))
        if operation == 2:
            if new is not ERASED and new != b"":
                raise Damage("a delete with a payload")
            there.pop(entity, None)
            erased.discard(entity)
            gone[entity] = revision
        elif new is ERASED or (operation == 1 and entity in erased):
            if new is not ERASED:
                record_of(new, undefined=True)
            there.pop(entity, None)
            erased.add(entity)
            gone[entity] = revision
        elif operation == 0:
            gone.pop(entity, None)
            erased.discard(entity)
            there[entity] = (revision, revision, record_of(new))
        else:
            record = dict(there[entity][2])
            for key, (value, raw) in record_of(new, undefined=True).items():
                if value is UNDEFINED:
                    record.pop(key, None)
                else:
                    record[key] = (value, raw)
            there[entity] = (there[entity][0], revision, record)

    def digest(self):
        schema = self.schema.encode()
        parts = [number(len(schema)), schema]
        for table in self.kinds:
            there, gone, erased = table["there"], table["gone"], table["erased"]
            parts.append(number(table["highest"], len(there)))
            for entity in sorted(there):
                added, changed, record = there[entity]
                data = encode(record)
                parts += [number(entity, added, changed, len(data)), data]
            parts.append(number(len(gone)))
            parts += [number(entity, gone[entity]) for entity in sorted(gone)]
            parts.append(number(len(erased), *sorted(erased)))
        return sha(*parts)


def read_format(data):
    lines = data.decode().split("\n")
    match = re.fullmatch(r"journal ([0-9]+)( .*)?", lines[0])
    if match and int(match[1]) > 2:
        raise Newer("format %s" % match[1])
    uuid = re.fullmatch(r"journal 2 ([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})", lines[0])
    model = re.fullmatch(r"model (\S+) ([1-9][0-9]*)", lines[1]) if len(lines) > 1 else None
    if not uuid or not model or lines[-1] != "":
        raise Damage("FORMAT has another form")
    # The line about a base is the last one, and the digest does not cover it.
    may_have_base = lines[-2] == "must base 1"
    for line in lines[2:-2 if may_have_base else -1]:
        if line.startswith("must "):
            raise Newer("the feature " + line.split(" ")[1])
        if not line.startswith("may "):
            raise Damage("FORMAT has another form")
    sealed = data[:-len("must base 1\n")] if may_have_base else data
    return bytes.fromhex(uuid[1].replace("-", "")), model[1], int(model[2]), sha(b"\2", sealed)


class Base:
    """The state that a pruned history begins with."""

    def __init__(self, data, journal, format_digest):
        lines = data.split(b"\n", 8)
        if len(lines) < 9:
            raise Damage("BASE is cut")
        words = [line.decode().split(" ") for line in lines[:8]]
        names = [line[0] for line in words]
        if names != ["base", "revision", "digest", "date", "format", "model", "state", "sha256"] or words[0][1] != "1":
            raise Damage("BASE has another form")
        header = b"".join(line + b"\n" for line in lines[:7])
        if sha(header).hex() != words[7][1]:
            raise Damage("the lines of BASE are altered")
        if words[0][2].replace("-", "") != journal.hex() or words[4][1] != format_digest.hex():
            raise Damage("BASE is another journal's")
        self.revision, self.digest = int(words[1][1]), bytes.fromhex(words[2][1])
        self.model, self.version = words[5][1], int(words[5][2])
        self.state, self.state_digest = lines[8], bytes.fromhex(words[6][2])
        if len(self.state) != int(words[6][1]) or sha(self.state) != self.state_digest:
            raise Damage("the state of BASE is altered")

    def load(self, state):
        reader = Reader(self.state)

        def take():
            return int.from_bytes(reader.take(8), "big")

        if reader.take(take()).decode() != "%s/%d" % (self.model, self.version):
            raise Damage("the state of BASE is another model's")
        for table in state.kinds:
            table["highest"] = take()
            for _ in range(take()):
                entity, added, changed = take(), take(), take()
                table["there"][entity] = (added, changed, record_of(reader.take(take())))
            for _ in range(take()):
                entity = take()
                table["gone"][entity] = take()
            table["erased"] = {take() for _ in range(take())}
        reader.end()


def read_head(data, journal):
    newest = None
    for at in (0, 4096, 8192):
        slot = data[at:at + 68]
        if len(slot) == 68 and slot[:24] == b"JRNLHEAD" + journal and crc32c(slot[:64]).to_bytes(4, "big") == slot[64:]:
            mark = (int.from_bytes(slot[24:32], "big"), slot[32:64])
            newest = max(newest or mark, mark)
    if newest is None:
        raise Damage("HEAD is damaged")
    return newest


def read(folder, kinds):
    def contents(name):
        with open(os.path.join(folder, name), "rb") as file:
            return file.read()

    form = contents("FORMAT")
    journal, model, version, format_digest = read_format(form)
    marked, mark = read_head(contents("HEAD"), journal)
    values = leveldb_reader.read(os.path.join(folder, "entries"))
    if values.pop(b"m", None) != journal:
        raise Damage("the log is another journal's")
    entries = {int.from_bytes(key[1:], "big"): value for key, value in values.items()}
    if any(len(key) != 9 or key[:1] != b"e" for key in values):
        raise Damage("a key that no journal has")
    base = None
    if os.path.exists(os.path.join(folder, "entries", "BASE")):
        base = Base(contents(os.path.join("entries", "BASE")), journal, format_digest)
    start = base.revision if base else 0
    if any(revision <= start for revision in entries):
        raise Damage("an entry that the base stands for")
    newest = max(entries, default=start)
    if newest < marked:
        raise Damage("entries %d to %d are missing" % (newest + 1, marked))
    found = {"model": model, "revision": newest, "versions": [], "digests": [], "erasedEvents": 0, "annotations": [],
             "checkpoints": 0, "clockDates": 0, "base": start}
    # A checkpoint has the digest of an earlier state in its own version of the model. This reader can only check those
    # in the version of the newest entry.
    parsed, checkpoints = {}, {}
    for revision in range(start + 1, newest + 1):
        if revision not in entries:
            raise Damage("entry %d is missing" % revision)
        try:
            parsed[revision] = entry(entries[revision])
        except Damage as error:
            raise Damage("entry %d: %s" % (revision, error))
        _, header, parts = parsed[revision]
        if 3 in header:
            if not 0 < header[3] < revision:
                raise Damage("entry %d has a checkpoint of no earlier revision" % revision)
            digest = content(parts[1 + len(header[8])])
            if digest is not ERASED:
                checkpoints.setdefault(header[3], []).append((header[4], digest))
    schema = "%s/%d" % (model, parsed[newest][1][4] if newest > start else version)
    state = State(schema, kinds)
    previous, date = format_digest, FIRST
    if base:
        base.load(state)
        previous = base.digest
        if all(digest != base.state_digest for _, digest in checkpoints.get(start, [])):
            raise Damage("no entry vouches for the base")
        found["checkpoints"] += len(checkpoints[start])
    if marked == start and mark != previous:
        raise Damage("HEAD is of another FORMAT")
    for revision in range(start + 1, newest + 1):
        raw, header, parts = parsed[revision]
        if header[6] != previous:
            raise Damage("entry %d does not follow the one before" % revision)
        if header[2] < date or header[4] < version:
            raise Damage("entry %d has an earlier date or an older model than the one before" % revision)
        date, version = header[2], header[4]
        previous = sha(b"\1", journal, number(revision), raw,
                       *[part[1] if type(part) is tuple else sha(b"\0", part) for part in parts])
        if revision == marked and previous != mark:
            raise Damage("entry %d is not the one that HEAD names" % revision)
        annotation = content(parts[0])
        if annotation is ERASED:
            found["annotations"].append("erased")
        else:
            words = known(Reader(annotation).item(), (0, 2, 4)) if annotation else {}
            found["annotations"].append([words.get(0, ""), words.get(2, ""), {k: v for k, v, _, _ in words.get(4, [])}])
        for event, part in zip(header[8], parts[1:]):
            found["erasedEvents"] += content(part) is ERASED
            try:
                state.apply(event, part, revision)
            except Damage as error:
                raise Damage("entry %d: %s" % (revision, error))
        for model_version, digest in checkpoints.get(revision, []):
            if "%s/%d" % (model, model_version) == schema:
                found["checkpoints"] += 1
                if digest != state.digest():
                    raise Damage("the checkpoint of revision %d is of another state" % revision)
        found["clockDates"] += 1 in header
        found["versions"].append(header[4])
        found["digests"].append(previous.hex())
    found["stateDigest"] = state.digest().hex()
    return found


if __name__ == "__main__":
    try:
        result = read(sys.argv[1], int(sys.argv[2]))
    except Newer as error:
        result = {"newer": str(error)}
    except (Damage, leveldb_reader.Damage, UnicodeDecodeError) as error:
        result = {"damaged": str(error)}
    print(json.dumps(result))
