import CatalogModel

enum Import: Verb {
  static let text = """
    import: imports a log, a table, a git repository, or the files of an older app

    Imports other data into a journal, which is created if it does not exist. A second run continues from the first: what
    changed in the source since is applied, what people added or changed in the journal stays, and a conflict is reported;
    the history has both. If both have changed the same attribute, category or image, the source's is used. Unchanged data
    make no entry.

    entries FILE: each line, as log --json prints it, becomes an entry with its date, author, note and metadata; with
    --patch too, but not if images are added, whose sizes it omits. Its entities keep their numbers, so a whole log
    (--reverse) makes a journal with equal states and revisions; the log of a pruned journal begins too late for that. For
    the lines of a log, the bytes of images come from the folder of --images. A line without a revision is one of journal
    commit, without "file"; new entities get new numbers, and later lines use the names that "as" gives. FILE may be -.
    The first line that can't be taken ends the import, and the entries before it stay; --inspect names all such lines.
    Changes whose content was erased are left out, and the exit code is then 1. import.entry in the metadata is the line's
    revision or number, after which the next run continues; if that may have been pruned or erased, name it with --after.
    A file in which lines that were imported before are others is refused, as is one without a revision that lacks some.

    csv FILE, jsonl FILE: a table as it is now: rows of CSV (RFC 4180) below a line of names, or a JSON object on each
    line, become items with a column for each attribute. The next run adds, changes and deletes what the table has added,
    changed and lost since, as one entry, or one for each 100,000 rows or 16 MiB. Attributes without a column stay, as do
    items that people have added, and those that the table lost if people have changed them. What people have deleted
    comes back if its row changes. What was changed before a pruning counts as the table's. A cell of CSV is a text unless
    --type says otherwise; one without anything in it, not even quotation marks, is no value. If rows can't be read, all
    such lines are named, and nothing is imported. A row that breaks a rule of the journal ends the import; entries of
    100,000 rows before it stay. FILE can't be -, and a jsonl file without a row is refused.

    git REPO: each commit on a branch's first-parent line becomes an entry with its author, date and message, and the
    commit's hash as git.commit in its metadata. Each file is an item of kind "file" with the attributes path, mode and
    blob, and text if it is UTF-8 of up to 65,536 bytes; other bytes are the item's image. Its folder is its category.
    An item that the source no longer has stays if people have changed it. One that they have deleted comes back if the
    source changes it.
    With --records, each object of the JSON array in FILE is an item instead, and its fields are the item's attributes.
    An object that comes back is the same item again. Objects without a key, or with the key of a later object, are
    skipped and reported, as are those that a journal can't keep. If there are no others, the exit code is 1. If items
    only stay, the commit's entry names them and changes nothing. The next run continues after the newest git.commit. If
    that may have been pruned or erased, name the commit with --after. A shallow clone without that commit is refused.

    Entries have the commits' dates, and the authors' as git.authored, so --at DATE shows what
    git rev-list -1 --first-parent --before=DATE names. Dates in a journal never decrease: an entry whose commit is later
    than one after it has that one's date, and one that a later run adds has at least that of the newest entry; its own is
    in git.date. With --dates author, entries have the authors' dates, or that of the entry before if it is later.

    archive FILE…: files of a keyed archiver (NSKeyedArchiver): objects of the app's classes become items, and their
    category becomes the category of the items. Name files that belong together in one call.
    defaults FILE: a preferences property list with archives as data under its keys.
    plist FILE… or FOLDER: property lists of dictionaries, such as toDoItems.plist and doneItems.plist.
    scarybugs FOLDER: documents <n>.scarybug with data.plist, thumbImage.jpg and fullImage.jpg.

    Each of these four makes one entry, or one for each 100,000 items or 16 MiB of them. Fields that the program does
    not know become attributes with the same names. Changes to the files since the last import are applied to the
    journal. Changes in the journal stay unless the file changes the same attribute. An item that was removed from a
    file is deleted, unless it was changed in the journal. Unreadable data are reported, the rest is imported, and the
    exit code is 1. --inspect shows what each object and field would become.

    Arguments: JOURNAL
    SOURCE: what to import from: entries, csv, jsonl, git, archive, defaults, plist or scarybugs
    PATH…: the repository, file, files or folder
    [--branch B]: git: the branch to follow; by default HEAD
    [--after COMMIT]: git: the newest commit that was imported, if pruning or erasing has removed its name; entries: the
      revision or number of the newest line that was imported, or 0
    [--dates WHICH]: git: the dates of the entries: commit, which is the default, or author
    [--records FILE]: git: import the objects of this JSON file
    [--key KEY]: csv and jsonl: the column that identifies a row; git: the field that identifies an object; defaults:
      the only key to import
    [--type COLUMN=TYPE]…: csv and jsonl: read a column's texts as int, double, bool, date or json; may be repeated
    [--at DATE]: csv and jsonl: the date of the entry; by default now
    [--category FIELD]: git: the field whose text is the item's category
    [--images TEMPLATE]: git: the file that is an object's image, with {key} or {FIELD}, .lowercased or
      .uppercased; entries: the folder with the bytes of images, such as Books.journal/images
    [--map FIELD=KEY]…: the attribute FIELD comes from KEY, as in note=comment or latitude=spot.lat; may be
      repeated
    [--kind KIND]: csv and jsonl: the kind of the items, by default the file's name; archive, defaults and plist: the
      kind, instead of a guess
    [--store NAME]: the name of this store, to distinguish it from others of the same source; not for git
    [--by AUTHOR]: the author of entries that the source gives none; by default your login name; not for git
    [--inspect]: show the contents of the files and what they would become; write nothing; not for git
    [--json]

    $ journal import Books.journal csv books.csv --key isbn --kind book --type stars=int  # the books of a table, and
      next week what has changed in it
    $ journal log Books.journal --json --reverse | journal import Copy.journal entries - --images
      Books.journal/images  # a journal with the same states and revisions
    $ journal import Code.journal git ~/code  # every file of every commit of HEAD
    $ journal import World.journal git countries --records countries.json --key cca3 --category region
      --images 'data/{key.lowercased}.svg'  # every country as an item, with its outline as an image
    $ journal import Places.journal archive annotations categories --inspect  # which classes and keys the two
      files have, and what they would become
    $ journal import Places.journal archive annotations categories --map note=comment  # places and their
      categories; the app's comment becomes the note
    $ journal import People.journal defaults com.example.people.plist --key personsArray  # the persons
      archived under that key
    $ journal import ToDo.journal plist Documents  # both lists of the to-do app
    $ journal import Bugs.journal scarybugs 'Library/Private Documents'  # every bug, with its pictures
    """

  static let sources =
    [EntriesSource.source] + TableSource.sources + [GitSource.source] + LegacyImport.sources
  private static let sourceOptions = Set(sources.flatMap { $0.options })

  static func run(_ arguments: Arguments, _ terminal: Terminal) throws {
    let name = arguments.operand("SOURCE")
    guard let source = sources.first(where: { $0.name == name }) else {
      let known = sources.map { $0.name }
      let suggestion = Suggestion.text(for: name, among: known)
      throw arguments.misuse(
        "there is no import from \"\(name.printable)\"\(suggestion), only from \(known.enumerated)")
    }
    for option in sourceOptions.sorted() where arguments.has(option) && !source.options.contains(option) {
      throw arguments.misuse("\(option) is not for \(name)")
    }
    let paths = arguments.values("PATH")
    guard paths.count == 1 || source.takesSeveral else {
      throw arguments.misuse("there is one argument too many: \(paths[1].printable)")
    }
    terminal.code = try source.run(arguments, terminal)
  }

  /// Seconds as JSON shows them, to the millisecond.
  static func rounded(_ seconds: Double) -> FieldValue { .double((seconds * 1000).rounded() / 1000) }

  /// Runs an import. If the journal can't store it, throws an error that says what is kept and how to continue.
  static func storing<Result>(in journal: CatalogJournal, _ body: () throws -> Result) throws -> Result {
    let codes: [JournalError.Code] = [.io, .outcomeUnknown, .poisoned, .outOfResources, .unreachable]
    do {
      return try body()
    } catch let error as JournalError where codes.contains(error.code) {
      // Only the innermost error is reported. Outer ones advise to reopen the journal, which the next run does anyway.
      var cause: any Error = error
      while let inner = (cause as? JournalError)?.cause { cause = inner }
      throw Failure.unreadable(
        "the import stopped, and everything up to revision \(journal.head.revision) is kept; run it again to "
          + "continue, after mending this: \(cause)")
    }
  }
}

struct ImportSource: Sendable {
  let name: String
  /// The options of this source, without those that all sources have.
  let options: [String]
  var takesSeveral = false
  let run: @Sendable (Arguments, Terminal) throws -> ExitCode
}
