import sqlite3

from store import COLUMNS, FIELDS, Store


class SQL(Store):
    def open(self):
        self.db = sqlite3.connect(f"{self.folder}/items.db", isolation_level=None)
        self.db.execute("PRAGMA journal_mode = WAL")
        self.db.execute("PRAGMA synchronous = FULL")

    def close(self):
        self.db.close()

    def rows(self, statement, *values):
        return self.db.execute(statement, values).fetchall()

    def first(self, number):
        self.open()
        return dict(zip(FIELDS, self.rows(f"SELECT {COLUMNS} FROM items WHERE id = ?", number)[0]))

    def update(self, item, changes):
        self.rows(f"UPDATE items SET {' = ?, '.join(changes)} = ? WHERE id = ?", *changes.values(), item)
