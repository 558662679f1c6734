from functools import cached_property

FIELDS = ["amount", "company", "name", "stage", "stars"]
COLUMNS = ", ".join(FIELDS)


def differences(old, new):
    return {field: (old[field], new[field]) for field in FIELDS if old[field] != new[field]}


class Store:
    """What all rivals have in common. Revisions are the numbers of commits, from 1.

    A work is a method that answers one call. A method `…_lines`, which is not measured, makes lines of the answer,
    which are the same for all contestants.
    """

    def __init__(self, plan, folder):
        self.commits, self.folder = plan["commits"], folder
        items = list(enumerate(plan["items"], 1))
        self.batches = [items[first:first + 1000] for first in range(0, len(items), 1000)]
        self.count = len(self.batches) + len(self.commits)

    @cached_property
    def names(self):
        """What the store calls each revision. Read in a warm-up."""
        return range(1, self.count + 1)

    @cached_property
    def numbers(self):
        return {name: number for number, name in enumerate(self.names, 1)}

    def create_lines(self, _):
        return [self.version]

    def commit(self, first, count):
        for commit in self.commits[first:first + count]:
            self.commit_one(**commit)

    def page_ordered(self, revision):
        return self.page(revision)

    def item_lines(self, item):
        return [f"{field} {item[field]}" for field in FIELDS]

    def page_lines(self, items):
        return [f"{number} {line}" for number, item in items for line in self.item_lines(item)]

    def field_lines(self, fields):
        return sorted(f"{field} {old} {new}" for field, (old, new) in fields.items())

    def history_lines(self, changes):
        return [f"{self.numbers[name]} {author} {line}"
                for name, author, fields in changes for line in self.field_lines(fields)]

    def diff_lines(self, items):
        return [f"{item} {line}" for item, fields in sorted(items.items()) for line in self.field_lines(fields)]

    def blame_lines(self, parts):
        return [f"{number} {author}" for number, author in sorted(
            ((self.numbers[name], author) for name, author in parts), reverse=True)]

    def newest_lines(self, entries):
        return [f"{self.numbers[name]} {author} {note}" for name, author, note in entries]

    first_lines, page_ordered_lines = item_lines, page_lines
