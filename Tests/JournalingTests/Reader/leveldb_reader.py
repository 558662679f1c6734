"""Reads the keys and values of a LevelDB database that is not compressed, without LevelDB.

Follows doc/log_format.md, doc/table_format.md and doc/impl.md of LevelDB. It writes nothing.
"""
import os
import struct

TABLE = []
for n in range(256):
    for _ in range(8):
        n = (n >> 1) ^ 0x82F63B78 if n & 1 else n >> 1
    TABLE.append(n)


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = TABLE[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    return crc ^ 0xFFFFFFFF


def masked(crc):
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


class Damage(Exception):
    pass


def varint(data, at):
    number, shift = 0, 0
    while True:
        byte = data[at]
        at += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number, at
        shift += 7


def slice_(data, at):
    count, at = varint(data, at)
    if at + count > len(data):
        raise Damage("a text ends early")
    return data[at:at + count], at + count


def records(data):
    """The records of a log file, without a record that was cut off at the end."""
    at, whole = 0, b""
    while at + 7 <= len(data):
        left = 32768 - at % 32768
        if left < 7:
            at += left
            continue
        crc, count, kind = struct.unpack_from("<IHB", data, at)
        if kind == 0 and count == 0:
            at += left
            continue
        content = data[at + 7:at + 7 + count]
        if len(content) < count:
            return
        if masked(crc32c(data[at + 6:at + 7 + count])) != crc:
            raise Damage("a record of the log has another checksum")
        at += 7 + count
        whole = content if kind in (1, 2) else whole + content
        if kind in (1, 4):
            yield whole


def block(data, handle):
    offset, size = handle
    content, kind = data[offset:offset + size], data[offset + size]
    if kind != 0:
        raise Damage("the block is compressed")
    if masked(crc32c(data[offset:offset + size + 1])) != struct.unpack_from("<I", data, offset + size + 1)[0]:
        raise Damage("a block of a table has another checksum")
    end = len(content) - 4 * (struct.unpack_from("<I", content, len(content) - 4)[0] + 1)
    at, key = 0, b""
    while at < end:
        shared, at = varint(content, at)
        unshared, at = varint(content, at)
        count, at = varint(content, at)
        key = key[:shared] + content[at:at + unshared]
        at += unshared
        yield key, content[at:at + count]
        at += count


def handle(data, at):
    offset, at = varint(data, at)
    size, at = varint(data, at)
    return (offset, size), at


def table(data):
    footer = len(data) - 48
    if footer < 0 or data[-8:] != bytes.fromhex("57fb808b247547db"):
        raise Damage("a table has no end")
    _, at = handle(data, footer)
    index, _ = handle(data, at)
    for _, value in block(data, index):
        yield from block(data, handle(value, 0)[0])


def version(data):
    """The numbers of the tables that are in use, and of the oldest log."""
    tables, log = set(), 0
    for edit in records(data):
        at = 0
        while at < len(edit):
            tag, at = varint(edit, at)
            if tag == 1:
                _, at = slice_(edit, at)
            elif tag in (2, 3, 4, 9):
                number, at = varint(edit, at)
                if tag == 2:
                    log = number
            elif tag == 5:
                _, at = varint(edit, at)
                _, at = slice_(edit, at)
            elif tag == 6:
                _, at = varint(edit, at)
                number, at = varint(edit, at)
                tables.discard(number)
            elif tag == 7:
                _, at = varint(edit, at)
                number, at = varint(edit, at)
                _, at = varint(edit, at)
                _, at = slice_(edit, at)
                _, at = slice_(edit, at)
                tables.add(number)
            else:
                raise Damage("MANIFEST has something unknown")
    return tables, log


def read(folder):
    """A dictionary of all keys and their values."""
    def contents(name):
        with open(os.path.join(folder, name), "rb") as file:
            return file.read()

    newest = {}

    def put(key, sequence, value):
        if key not in newest or newest[key][0] < sequence:
            newest[key] = (sequence, value)

    tables, log = version(contents(contents("CURRENT").decode().strip()))
    names = os.listdir(folder)
    for number in sorted(tables):
        name = next((n for n in ("%06d.ldb" % number, "%06d.sst" % number) if n in names), None)
        if name is None:
            raise Damage("table %d is missing" % number)
        for key, value in table(contents(name)):
            tag = struct.unpack("<Q", key[-8:])[0]
            put(key[:-8], tag >> 8, value if tag & 0xFF else None)
    for name in sorted(n for n in names if n.endswith(".log") and int(n[:-4]) >= log):
        for batch in records(contents(name)):
            sequence, count = struct.unpack_from("<QI", batch)
            at = 12
            for index in range(count):
                kind = batch[at]
                key, at = slice_(batch, at + 1)
                value = None
                if kind == 1:
                    value, at = slice_(batch, at)
                put(key, sequence + index, value)
    return {key: value for key, (_, value) in sorted(newest.items()) if value is not None}
