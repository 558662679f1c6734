#!/usr/bin/env bash
# A table that sqlite-history-json restores has other numbers than the table had.
#
# The package's triggers write each change as JSON into a table of history. Expected: the newest state, restored, equals
# the table. Seen, with sqlite-history-json 0.4 and SQLite 3.51.1: each REAL that needs 16 or 17 digits comes back
# rounded to 15, as 0.1 + 0.2 and large whole numbers; integers, texts and blobs come back as they were. SQLite's JSON
# functions print 15 digits in this version, and 17 in 3.54.1, where all numbers survive. So the history depends on the
# SQLite that wrote it, and nothing in it says which numbers were rounded. With swap=True, the restored table replaces
# the right one.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m pip install --quiet --disable-pip-version-check --root-user-action=ignore --target "$folder" \
  sqlite-history-json==0.4 pysqlite3-binary==0.5.4.post2 apsw==3.54.1.0
PYTHONPATH=$folder python3 - <<'PYTHON'
import apsw
import pysqlite3
import sqlite_history_json

numbers = [0.1, 2.5, 0.1 + 0.2, 19.99 * 1.19, 1234567890123456.0]
assert pysqlite3.sqlite_version == "3.51.1"
database = pysqlite3.connect(":memory:")
database.execute("CREATE TABLE amount (id INTEGER PRIMARY KEY, value REAL)")
sqlite_history_json.enable_tracking(database, "amount")
database.executemany("INSERT INTO amount (value) VALUES (?)", [(number,) for number in numbers])
database.commit()


def values():
    return [value for (value,) in database.execute("SELECT value FROM amount ORDER BY id")]


assert values() == numbers
sqlite_history_json.restore(database, "amount", swap=True)
assert values() == [0.1, 2.5, 0.3, 23.7881, 1.23456789012346e15], values()

# What the triggers of a newer SQLite would write.
texts = [apsw.Connection(":memory:").execute("SELECT json_array(?)", (number,)).get for number in numbers]
assert apsw.sqlite_lib_version() == "3.54.1"
assert [float(text[1:-1]) for text in texts] == numbers, texts
PYTHON
echo 'ok: sqlite-history-json 0.4 with SQLite 3.51.1 restores 0.1 + 0.2 as 0.3, and 1234567890123456.0 as …460.0'
