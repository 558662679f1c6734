# Compares what `history`, `blame`, `diff` and `find --deleted` say about a journal that was imported from a git
# repository with the repository itself: git's own log, and the JSON of every commit.
#
# Arguments: the program `journal`, a journal, the repository, the branch, the file of records, the field that
# identifies them, and a seed. Prints one JSON object: how much was compared, and the differences.
import json, random, subprocess, sys

program, path, repository, branch, records, key, seed = sys.argv[1:]
random.seed(int(seed))
problems, compared = [], {"history": 0, "blame": 0, "diff": 0, "deleted": 0}


def run(*words, input=None):
    return subprocess.run(words, input=input, stdout=subprocess.PIPE, check=False).stdout


def git(*words, input=None):
    return run("git", "-C", repository, *words, input=input)


def lines(*words):
    return [json.loads(line) for line in run(program, words[0], path, *words[1:], "--json").splitlines()]


def note(what, found, expected):
    if found != expected and len(problems) < 20:
        problems.append("%s: found %s, expected %s" % (what, json.dumps(found)[:400], json.dumps(expected)[:400]))


# What git says.
commits = git("rev-list", "--first-parent", "--reverse", branch).decode().split()
words = git("log", "--first-parent", "--reverse", "--encoding=UTF-8", "--format=format:%an%x00%B%x01", branch)
words = [part.strip("\n").split("\0") for part in words.decode().split("\1")][: len(commits)]
words = {commit: (author, text.strip("\n")) for commit, (author, text) in zip(commits, words)}


def objects(commit, before):
    """The records of a commit by their keys; `before` if the file is not a JSON array."""
    try:
        found = json.loads(git("show", "%s:%s" % (commit, records)))
        assert type(found) is list
    except (ValueError, AssertionError):
        return before
    state = {}
    for element in found:
        if type(element) is dict and type(element.get(key)) is str:
            # If several records have one key, the last one counts.
            state[element[key]] = element
    return state


# Every state, and the entry of each commit.
entries = {entry["metadata"]["git.commit"]: entry for entry in lines("log")}
revision_of, states, state, revision = {}, {0: {}}, {}, 0
for commit in commits:
    found = objects(commit, state)
    entry = entries.get(commit)
    if entry is None:
        note("a commit without an entry changes nothing", found == state, True)
    else:
        revision += 1
        note("entry of %s" % commit, [entry["revision"], entry["author"], entry["note"]], [revision, *words[commit]])
        states[revision] = found
    state = found
newest = revision
by_revision = {entry["revision"]: entry for entry in entries.values()}


def changes(old, new):
    """What differs between two records, as `--json` prints it."""
    changes = {}
    for name in sorted(set(old or {}) | set(new or {})):
        change = {}
        if old is not None and name in old:
            change["old"] = old[name]
        if new is not None and name in new:
            change["new"] = new[name]
        if len(change) == 1 or change["old"] != change["new"]:
            changes[name] = change
    return changes


# Each key is one item, also if its record was away for a while.
records_by_key = {}
for revision in range(1, newest + 1):
    before, after = states[revision - 1], states[revision]
    for name in before.keys() | after.keys():
        record = records_by_key.setdefault(name, {"key": name, "events": [], "last": None})
        if name in after:
            record["last"] = revision
        operation = "update" if name in before and name in after else "add" if name in after else "delete"
        changed = changes(before.get(name), after.get(name))
        if changed:
            record["events"].append((revision, operation, changed))
everything = list(records_by_key.values())


def attributes(changed):
    return {name: change for name, change in changed.items() if not name.startswith("@")}


# Find the item of each record by the entries that added it.
added = {}
for entry in lines("log", "--operation", "add", "--patch"):
    for event in entry["events"]:
        if event["operation"] == "add" and event["entity"].startswith("item:"):
            added.setdefault(event["changes"][key]["new"], []).append((entry["revision"], event["entity"]))
for record in everything:
    adds = [revision for revision, operation, _ in record["events"] if operation == "add"]
    found = sorted(added.pop(record["key"], []))
    note("adds of %s" % record["key"], [revision for revision, _ in found], adds)
    note("items of %s" % record["key"], len({item for _, item in found}), 1)
    record["item"] = found[0][1] if found else None
note("added besides", sorted(added), [])

ended = [record for record in everything if record["last"] < newest]
returned = [record for record in everything if sum(operation == "add" for _, operation, _ in record["events"]) > 1]
sample = random.sample(everything, min(len(everything), 25))
sample += random.sample(ended, min(len(ended), 5)) + random.sample(returned, min(len(returned), 5))
for record in sample:
    item = record["item"]
    found = [
        [line["revision"], line["event"]["operation"], attributes(line["changes"])]
        for line in lines("history", item)
        if attributes(line["changes"]) or line["event"]["operation"] != "update"
    ]
    note("history of %s" % item, found, [list(event) for event in reversed(record["events"])])
    compared["history"] += len(found)
    # A deleted item is blamed as of its last revision.
    point = record["last"]
    expected = {}
    for revision, operation, changed in record["events"]:
        if revision <= point:
            if operation == "add":
                expected = {}
            for name, change in changed.items():
                expected.pop(name, None)
                if "new" in change:
                    entry = by_revision[revision]
                    expected[name] = [change["new"], revision, entry["author"], entry["note"], entry["date"]]
    found = {
        line["field"]: [line["value"], line["revision"], line["author"], line["note"], line["date"]]
        for line in lines("blame", "%s@%d" % (item, point))
        if not line["field"].startswith("@")
    }
    note("blame of %s" % item, found, expected)
    compared["blame"] += len(found)

pairs = [(revision, revision + 1) for revision in random.sample(range(1, newest), 4)]
pairs += [tuple(random.sample(range(1, newest + 1), 2)) for _ in range(6)]
for old, new in pairs:
    expected = {}
    for name in states[old].keys() | states[new].keys():
        before, after = states[old].get(name), states[new].get(name)
        changed = changes(before, after)
        if changed:
            operation = "add" if before is None else "delete" if after is None else "update"
            expected[records_by_key[name]["item"]] = [operation, changed]
    found = {
        line["entity"]: [line["operation"], attributes(line["changes"])]
        for line in lines("diff", str(old), str(new))
        if line["entity"].startswith("item:") and (attributes(line["changes"]) or line["operation"] != "update")
    }
    for item in sorted(found.keys() | expected.keys()):
        note("diff of %d and %d, %s" % (old, new, item), found.get(item), expected.get(item))
    compared["diff"] += len(found)

for point in random.sample(range(1, newest + 1), min(5, newest)) + [newest]:
    expected = sorted(
        record["item"] for record in everything if record["events"][0][0] <= point and record["key"] not in states[point]
    )
    found = [line["entity"] for line in lines("find", "--deleted", "--at", str(point)) if line["entity"].startswith("item:")]
    note("deleted by %d" % point, sorted(found), expected)
    compared["deleted"] += len(found)

print(json.dumps({"compared": compared, "problems": problems}))
