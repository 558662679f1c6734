from base64 import decodebytes
from functools import cached_property
from importlib.metadata import version
from itertools import islice, pairwise

import transaction
import ZODB
from BTrees.IOBTree import IOBTree
from persistent import Persistent
from store import FIELDS, Store, differences
from ZODB.FileStorage import FileStorage


class Contact(Persistent):
    pass


class Rival(Store):
    version = version("ZODB")

    def open(self):
        self.storage = FileStorage(f"{self.folder}/items.fs")
        self.db = ZODB.DB(self.storage)
        self.connection = self.db.open()

    def close(self):
        self.connection.close()
        self.db.close()

    def create(self):
        items = self.connection.root()["items"] = IOBTree()
        for batch in self.batches:
            for number, item in batch:
                contact = items[number] = Contact()
                contact.__setstate__({"number": number, **item})
            self.finish("ana", "import")

    def commit_one(self, item, author, note, **changes):
        contact = self.contact(item)
        for field, value in changes.items():
            setattr(contact, field, value)
        self.finish(author, note)

    def finish(self, author, note):
        current = transaction.get()
        current.user, current.description = author, note
        current.commit()

    def contact(self, number):
        return self.connection.root()["items"][number]

    def first(self, number):
        self.open()
        return self.contact(number).__getstate__()

    @cached_property
    def names(self):
        return [commit.tid for commit in self.storage.iterator()][-self.count:]

    def versions(self, item):
        """The commits of an item with their authors, and its state after each, newest first."""
        contact = self.contact(item)
        for record in self.db.history(contact._p_oid, size=1 << 30):
            yield record["tid"], record["user_name"], self.connection.oldstate(contact, record["tid"])

    def history(self, item):
        return [(*name, differences(old, new)) for (*name, new), (*_, old) in pairwise(self.versions(item))]

    def blame(self, item):
        parts, newer = {}, None
        for *name, state in self.versions(item):
            for field in differences(state, newer[1]) if newer else []:
                parts.setdefault(field, newer[0])
            newer = (name, state)
            if len(parts) == len(FIELDS):
                break
        return [parts.get(field, newer[0]) for field in FIELDS]

    def past(self, revision):
        return self.db.open(at=self.names[revision - 1])

    def diff(self, old, new):
        before, after, items = self.past(old), self.past(new), {}
        for record in {record.oid for commit in self.storage.iterator(self.names[old], self.names[new - 1])
                       for record in commit}:
            state = after.get(record).__getstate__()
            items[state["number"]] = differences(before.get(record).__getstate__(), state)
        before.close()
        after.close()
        return items

    def item(self, number, revision):
        past = self.past(revision)
        # Reading the contact by its identifier, and not from the past tree of items, saves most of the time.
        item = past.get(self.contact(number)._p_oid).__getstate__()
        past.close()
        return item

    def page(self, revision):
        past = self.past(revision)
        items = [(number, item.__getstate__()) for number, item in islice(past.root()["items"].items(), 20)]
        past.close()
        return items

    def newest(self):
        return self.db.undoLog(0, 20)

    def newest_lines(self, entries):
        return super().newest_lines(
            (decodebytes(entry["id"] + b"\n"), entry["user_name"], entry["description"])
            for entry in entries)
