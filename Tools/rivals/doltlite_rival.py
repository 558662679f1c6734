from functools import cached_property
from itertools import pairwise

# Makes DoltLite the engine of Python's module sqlite3, which has to be imported after it.
import doltlite
from sql import SQL
from store import COLUMNS, FIELDS, differences


class Rival(SQL):
    """DoltLite with its own functions and tables of history, each in the fastest way that was found."""

    version = doltlite.__version__

    def create(self):
        self.db.execute("CREATE TABLE items(id INTEGER PRIMARY KEY, "
                        "amount REAL, company TEXT, name TEXT, stage TEXT, stars INTEGER)")
        for batch in self.batches:
            self.db.execute("BEGIN")
            self.db.executemany("INSERT INTO items VALUES(?, ?, ?, ?, ?, ?)", (
                (number, *(item[field] for field in FIELDS)) for number, item in batch))
            self.finish("ana", "import")

    def commit_one(self, item, author, note, **changes):
        # Without a transaction, a commit would be flushed twice.
        self.db.execute("BEGIN")
        self.update(item, changes)
        self.finish(author, note)

    def finish(self, author, note):
        self.rows("SELECT dolt_commit('-A', '-m', ?, '--author', ?)", note, f"{author} <{author}@example.org>")
        if self.db.in_transaction:
            self.db.execute("COMMIT")

    @cached_property
    def names(self):
        return [row[0] for row in self.rows("SELECT commit_hash FROM dolt_log LIMIT ?", self.count)][::-1]

    # dolt_history_items has a row for each commit, also if it did not change the item. dolt_diff_items has a row for
    # each change, but takes several times as long.
    def history(self, item):
        rows = self.rows(f"SELECT commit_hash, committer, {COLUMNS} FROM dolt_history_items WHERE id = ?", item)
        return [(new[0], new[1], differences(dict(zip(FIELDS, old[2:])), dict(zip(FIELDS, new[2:]))))
                for new, old in pairwise(rows) if new[2:] != old[2:]]

    def blame(self, item):
        return self.rows('SELECT "commit", committer FROM dolt_blame_items WHERE id = ?', item)

    def diff(self, old, new):
        columns = ", ".join(f"from_{field}, to_{field}" for field in FIELDS)
        return {row[0]: differences(dict(zip(FIELDS, row[1::2])), dict(zip(FIELDS, row[2::2]))) for row in self.rows(
            f"SELECT to_id, {columns} FROM dolt_diff_items(?, ?)", self.names[old - 1], self.names[new - 1])}

    def item(self, number, revision):
        return dict(zip(FIELDS, self.rows(
            f"SELECT {COLUMNS} FROM dolt_at_items(?) WHERE id = ?", self.names[revision - 1], number)[0]))

    def page(self, revision, order=""):
        return [(row[0], dict(zip(FIELDS, row[1:]))) for row in self.rows(
            f"SELECT id, {COLUMNS} FROM dolt_at_items(?) {order} LIMIT 20", self.names[revision - 1])]

    def page_ordered(self, revision):
        return self.page(revision, "ORDER BY id")

    def newest(self):
        return self.rows("SELECT commit_hash, committer, message FROM dolt_log LIMIT 20")

    def collect(self):
        self.rows("SELECT dolt_gc()")
