/// How the archive of a snapshot is laid out: what its writer and its reader have in common.
///
/// Documentation/Format.md, "A snapshot", has it for people, and ``about`` says it in every archive.
enum SnapshotLayout {
  static let version = 1

  /// The names in the root, an `NSDictionary`.
  enum Root {
    static let about = "about"
    static let format = "format"
    static let journal = "journal"
    static let schema = "schema"
    static let revision = "revision"
    static let date = "date"
    static let digest = "digest"
    static let kinds = "kinds"
    static let fields = "fields"
    static let entities = "entities"
    static let highest = "highest"
    static let deleted = "deleted"
    static let erased = "erased"
    static let indexes = "indexes"
    static let lists = "lists"
  }

  /// The fields that entities of all kinds have first, and last.
  static let leadingFields = ["number", "created", "modified"]
  static let attributesField = "attributes"

  /// All fields that an entity can have, in order: the leading ones, those of the model by their numbers, and
  /// the attributes.
  /// - Parameter names: the model's names; a field without one, or whose name is taken, is named by its number.
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

  static let about = """
    A snapshot of a journal: everything that was there at one revision, as a keyed archive of NSKeyedArchiver.

    The root is an NSDictionary:
    about: this text. format: 1. journal: the id of the journal. schema: the name and version of its model.
    revision: the number of the newest entry that is in it. date: when that was committed. digest: the SHA-256
    of that entry, in hexadecimal.
    kinds: the names of the kinds of entities. fields: by kind, the names of the fields that the model has.
    entities: by kind, an NSArray of all entities that are there, in the order of their numbers.
    highest: by kind, the highest number that was ever given.
    deleted: by kind, NSData: pairs of an entity that is gone and the revision that deleted it last.
    erased: by kind, NSData: pairs of an entity that is gone because it was erased, and the revision again.
    indexes: by name, NSData: pairs of a group and an entity in it. lists: by name, an NSArray of texts.

    NSData of pairs: a byte that says how many bytes a number has, 4 or 8; then the pairs, in rising order, each
    number with its most significant byte first.

    An entity of the kind item is an object of the class JournalItem, and so for all kinds. Its fields:
    number, created, modified: integers: its number, the revision that added it, the revision that changed it
    last. Then those of the model that it has; an integer, a real or a truth value stands in the field itself,
    all else is an object. attributes: an NSDictionary of what users named; it is left out when there is none.

    Values are NSString, NSNumber, NSDate, NSData, NSArray, NSDictionary with texts as keys, and NSNull. A text
    that is "$null" is an NSMutableString. Whole numbers and real numbers are kept apart. Equal texts may be one
    object, and dictionaries with the same keys may share the array NS.keys.

    To read it with NSKeyedUnarchiver, give it a class for each name of a class above: setClass(_:forClassName:).
    """
}
