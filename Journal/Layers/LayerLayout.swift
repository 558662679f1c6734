/// The layout of the archive of a layer or snapshot, which its writer and its reader share.
///
/// Documentation/Format.md, "The archive", describes the layout. So does the text under ``Root/about`` in each archive.
enum LayerLayout {
  /// The form of a snapshot, whose entities are objects for other programs. In its dictionaries, a key that begins with
  /// `$` has one more `$`, because readers take a dictionary with the key `$class` for an encoded object.
  static let objectsVersion = 4
  /// The form of a layer, whose entities are in blocks.
  static let blocksVersion = 3

  /// The names in the root, an `NSDictionary`.
  enum Root {
    static let about = "about"
    static let format = "format"
    static let journal = "journal"
    static let schema = "schema"
    static let from = "from"
    static let revision = "revision"
    static let checkpoints = "checkpoints"
    static let date = "date"
    static let digest = "digest"
    static let kinds = "kinds"
    static let fields = "fields"
    static let entities = "entities"
    static let versions = "versions"
    static let keys = "keys"
    static let blocks = "blocks"
    static let highest = "highest"
    static let deleted = "deleted"
    static let erased = "erased"
    static let indexes = "indexes"
    static let lists = "lists"
    static let valueIndexes = "valueIndexes"
    static let wordIndexes = "wordIndexes"
  }

  /// The names in a declared index, an `NSDictionary`.
  enum ValueIndex {
    static let kind = "kind"
    static let field = "field"
    static let text = "text"
    static let path = "path"
    static let lines = "lines"
    static let rests = "rests"
    static let rules = "rules"
    static let documents = "documents"
    static let words = "words"
    static let blocks = "blocks"
    static let postings = "postings"
  }

  /// The first fields of entities of all kinds. The last field has the attributes.
  static let leadingFields = ["number", "created", "modified"]
  static let attributesField = "attributes"

  /// All fields that an entity can have, in order: the leading ones, those of the model by their numbers, and
  /// the attributes.
  /// - Parameter names: the model's names; a field without a name, or whose name is taken, is named by its number.
  static func fields(_ names: [String]) -> [String] {
    var fields = leadingFields
    for number in 0..<24 {
      let name = number < names.count ? names[number] : ""
      let isFree = !name.isEmpty && name != attributesField && !fields.contains(name) && !name.hasPrefix("$")
      fields.append(isFree ? name : "field\(number)")
    }
    return fields + [attributesField]
  }

  /// The class of the entities of a kind: `JournalItem` for `item`.
  static func className(ofKind name: String) -> String {
    "Journal" + name.prefix(1).uppercased() + name.dropFirst()
  }

  /// The text in which a file with this header describes itself to people.
  static func about(_ header: LayerHeader) -> String {
    (header.isSnapshot ? aboutSnapshot : aboutLayer) + (header.valueIndexes.isEmpty ? "" : aboutValueIndexes)
      + (header.wordIndexes.isEmpty ? "" : aboutWordIndexes)
  }

  private static let aboutSnapshot = """
    A snapshot of a journal: the whole state after one of its entries, as a keyed archive of NSKeyedArchiver.

    The root is an NSDictionary:
    about: this text. format: 4. \(aboutRoot)
    checkpoints: an NSArray of the revisions whose states are in the snapshot: only revision.
    \(aboutKinds)
    entities: by kind, an NSArray of all entities, in the order of their numbers.
    versions: by kind, NSData: the number of each of these entities, and the revision that changed it last.
    \(aboutOthers)

    An entity of the kind item is an object of the class JournalItem, and so for all kinds. Its fields:
    number, created, modified: integers: its number, the revision that added it, the revision that changed it
    last. Then those of the model that it has; an integer, a real or a truth value stands in the field itself,
    all else is an object. attributes: an NSDictionary of what users named; it is left out when there is none.

    Values are NSString, NSNumber, NSDate, NSData, NSArray, NSDictionary with texts as keys, and NSNull. A text
    that is "$null" is an NSMutableString. A key that begins with "$" has one more "$" here than in the journal.
    Whole numbers and real numbers are kept apart. Equal texts may be one object, and dictionaries with the same keys
    may share the array NS.keys.

    To read it with NSKeyedUnarchiver, give it a class for each name of a class above: setClass(_:forClassName:).
    """

  private static let aboutLayer = """
    A layer of a journal's snapshots: what changed after one revision and up to another, as a keyed archive of
    NSKeyedArchiver. A layer from revision 0 is a whole state. Any other one is put on top of those that lead up to
    where it begins: the newest layer that has an entity, a deletion or a line of an index is right.

    The root is an NSDictionary:
    about: this text. format: 3. \(aboutRoot)
    checkpoints: an NSArray of the revisions whose states can be taken from the layer; the last is revision. If
    something changed several times between two checkpoints, the layer has only the last change.
    \(aboutKinds)
    entities: by kind, an NSArray of NSData: the blocks, which have the versions of all entities that were added or
    changed, in the order of their numbers and then of the revisions that made them. For a checkpoint, the last
    version of an entity that is not after it counts.
    keys: by kind, an NSArray of lists of keys. Each is an NSArray: a number is that of a field in fields, a text is
    the name of an attribute.
    blocks: by kind, NSData: the number and the revision of the first version of each block, and the offset of the
    block's object in this file; then those of the last version, and where the blocks end. It serves to look
    entities up.
    \(aboutOthers)

    A block is two byte strings of CBOR (RFC 8949), heads and records. The heads are a sequence of four integers for
    each version:
    1. its entity's number, minus that of the version before in the block (minus 0 for the first)
    2. the revision that added the entity, minus that of the version before (minus 0 for the first)
    3. the revision that made the version, minus the one that added the entity
    4. how many bytes its record has. If the record refers to none before it, -1 minus that many.
    A record is a sequence, too: the number of a list in keys, from 1, and the value for each key. Simple value n, from
    0 to 19, stands for the values of n + 1 keys, which are those that the record before has for these keys. If the
    number is 0, a map of keys and values follows instead, and the next record repeats nothing.
    Tag 2001 is a date in seconds since 2001 began in UTC.
    """

  private static let aboutValueIndexes = """


    valueIndexes: an NSArray with an NSDictionary for each index that the app has declared: the kind of entities,
    the number of a field and the text that those in the index have there, the path of the value, and lines and rests,
    NSData: the versions of entities in this layer in the order of their values. They can be made from the entities.
    """

  private static let aboutWordIndexes = """


    wordIndexes: an NSArray with an NSDictionary for each index of words: which entities, which value, the number of
    the rules by which texts are split, and documents, words, blocks and postings, NSData: the words of all versions
    between the two revisions. They can be made from the journal's log.
    """

  private static let aboutRoot = """
    journal: the id of the journal. schema: the name and version of its model.
    from: the revision after which it begins, 0 for the empty journal. revision: the number of the newest entry that
    is in it. date: when that was committed. digest: the SHA-256 of that entry, in hexadecimal.
    """

  private static let aboutKinds = """
    kinds: the names of the kinds of entities. fields: by kind, the names of the fields that the model has.
    """

  private static let aboutOthers = """
    deleted: by kind, NSData: an entity that is gone, and the revision of that. An entity of a later revision is there
    again. erased: by kind, NSData: those rows of deleted again whose entity is gone because it was erased.
    highest: by kind, the highest number that was ever given.
    indexes: by name, NSData: a group, an entity, and twice the checkpoint at which that shows, plus 1 if the entity
    was put into the group and plus 0 if it was taken out of it.
    lists: by name, an NSArray of the texts that were new, after those of the layers below.

    NSData of numbers: a byte that says how many bytes a number has, 4 or 8; then rows of two or three numbers, in
    rising order, each number with its most significant byte first.
    """
}
