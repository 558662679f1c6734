import sqlite3
import time

from sql import SQL
from store import COLUMNS, FIELDS


class Rival(SQL):
    """SQLite with a table of changes, as one writes it by hand: each changed field is a row."""

    version = sqlite3.sqlite_version

    def create(self):
        self.db.executescript("""
            CREATE TABLE items(id INTEGER PRIMARY KEY, created INTEGER NOT NULL,
              amount REAL, company TEXT, name TEXT, stage TEXT, stars INTEGER);
            CREATE TABLE entries(revision INTEGER PRIMARY KEY, date REAL, author TEXT, note TEXT);
            CREATE TABLE changes(item INTEGER, revision INTEGER, field TEXT, old, new,
              PRIMARY KEY(item, revision, field)) WITHOUT ROWID;
            CREATE INDEX changes_by_revision ON changes(revision);""")
        for batch in self.batches:
            revision = self.begin("ana", "import")
            self.db.executemany("INSERT INTO items VALUES(?, ?, ?, ?, ?, ?, ?)", (
                (number, revision, *(item[field] for field in FIELDS)) for number, item in batch))
            self.db.execute("COMMIT")

    def begin(self, author, note):
        self.db.execute("BEGIN IMMEDIATE")
        return self.db.execute(
            "INSERT INTO entries(date, author, note) VALUES(?, ?, ?)", (time.time(), author, note)).lastrowid

    def commit_one(self, item, author, note, **changes):
        revision = self.begin(author, note)
        old = self.rows(f"SELECT {', '.join(changes)} FROM items WHERE id = ?", item)[0]
        self.update(item, changes)
        self.db.executemany("INSERT INTO changes VALUES(?, ?, ?, ?, ?)", (
            (item, revision, field, value, changes[field]) for field, value in zip(changes, old)))
        self.db.execute("COMMIT")

    def history(self, item):
        changes = {}
        for revision, author, field, old, new in self.rows(
                "SELECT revision, author, field, old, new FROM changes JOIN entries USING(revision) WHERE item = ? "
                "ORDER BY revision DESC", item):
            changes.setdefault(revision, (revision, author, {}))[2][field] = (old, new)
        return list(changes.values())

    def blame(self, item):
        parts = {field: (revision, author) for field, revision, author in self.rows(
            "SELECT field, max(revision), author FROM changes JOIN entries USING(revision) WHERE item = ? "
            "GROUP BY field", item)}
        added = self.rows("SELECT revision, author FROM items JOIN entries ON revision = created WHERE id = ?", item)[0]
        return [parts.get(field, added) for field in FIELDS]

    def diff(self, old, new):
        items = {}
        for item, field, before, after in self.rows(
                "SELECT item, field, old, new FROM changes WHERE revision > ? AND revision <= ? ORDER BY revision",
                old, new):
            fields = items.setdefault(item, {})
            fields[field] = (fields[field][0] if field in fields else before, after)
        return {item: {field: pair for field, pair in fields.items() if pair[0] != pair[1]}
                for item, fields in items.items()}

    def item(self, number, revision):
        item = dict(zip(FIELDS, self.rows(f"SELECT {COLUMNS} FROM items WHERE id = ?", number)[0]))
        item.update(self.rows(
            "SELECT field, old FROM changes WHERE item = ? AND revision > ? ORDER BY revision DESC", number, revision))
        return item

    def page(self, revision):
        items = {row[0]: dict(zip(FIELDS, row[1:])) for row in self.rows(
            f"SELECT id, {COLUMNS} FROM items WHERE created <= ? ORDER BY id LIMIT 20", revision)}
        for number, field, old in self.rows(
                "SELECT item, field, old FROM changes WHERE item BETWEEN ? AND ? AND revision > ? "
                "ORDER BY revision DESC", min(items), max(items), revision):
            items[number][field] = old
        return list(items.items())

    def newest(self):
        return self.rows("SELECT revision, author, note FROM entries ORDER BY revision DESC LIMIT 20")
