import CatalogModel
import Foundation
import KeyedArchiving
import TestSupport
import Testing

@testable import LegacyStores

/// Files of real programs, and some that were made to break readers.
@Suite struct CorpusTests {
  private func read(_ source: LegacyStore.Source, _ file: URL) throws -> LegacyStore {
    switch source {
    case .archive: try .archives([file])
    case .defaults: try .defaults(file)
    default: try .propertyLists([file])
    }
  }

  /// Each file is either refused with an error, or can be imported, exported and imported again without a change.
  @Test(arguments: [LegacyStore.Source.archive, .defaults, .plist])
  func everyFileIsRefusedOrRoundTrips(source: LegacyStore.Source) throws {
    var unequal: [String] = []
    var count = 0
    for file in try KeyedCorpus.files().map(\.url) {
      let name = file.lastPathComponent
      let store: LegacyStore
      do {
        store = try read(source, file)
      } catch {
        #expect(error is LegacyError, "\(name): \(error)")
        continue
      }
      count += 1
      // An export lacks what could not be read.
      if store.problems.contains(where: \.isLoss) { continue }
      try withTemporaryFolder { folder in
        let journal = try folder.journal()
        // Some items break a limit of the journal.
        if try !journal.importStore(store).isComplete { return }
        #expect(try journal.importStore(store).revisions.isEmpty, "\(name)")
        let out = folder.url.appending(path: "out")
        try journal.exportStore(source, to: out)
        let again = try read(source, out.appending(path: name))
        if try !journal.importStore(again).revisions.isEmpty { unequal.append(name) }
      }
    }
    #expect(count > (KeyedCorpus.hasAdditions ? 50 : 2))
    // The null object, which no property list should have, becomes an empty text.
    #expect(unequal.filter { $0 != "bp_null.bplist" } == [])
  }

  /// Expanding one of them to its 10^12 objects would take days, and reading them takes milliseconds.
  @Test(
    .timeLimit(.minutes(60)),
    arguments: [
      "dos_keyed_laughs_10e12.plist", "dos_keyed_chain_1000.plist", "dos_laughs_arrays_10e12.bplist",
    ])
  func hostileFilesAreReadOrRefusedQuickly(_ name: String) {
    let file = KeyedCorpus.url("synthetic/\(name)")
    let time = processorTime {
      do { _ = try LegacyStore.archives([file]) } catch {
        #expect((error as? LegacyError)?.code == .unreadable, "\(error)")
      }
    }
    #expect(time < .seconds(60))
  }

  /// The texts and numbers in the fields of all items, compared with those that Python's `plistlib` reads.
  @Test(.enabled(if: Programs.python != nil, "python3 is missing"))
  func importedValuesEqualThoseOfPython() throws {
    var compared = 0
    for file in try KeyedCorpus.files().map(\.url) {
      guard let store = try? LegacyStore.archives([file]), store.problems.isEmpty, !store.items.isEmpty else {
        continue
      }
      try withTemporaryFolder { folder in
        let ours = try lines(of: store, folder)
        if ours.isEmpty { return }
        guard let theirs = try pythons(file, folder, classes: ours.keys.sorted()) else { return }
        for (className, lines) in ours {
          // Python also lists objects that nothing refers to, which the store does not have.
          let all = theirs[className] ?? []
          #expect(Set(lines).isSubset(of: all), "\(file.lastPathComponent), \(className)")
          compared += lines.count
        }
      }
    }
    #expect(compared > (KeyedCorpus.hasAdditions ? 20 : 3))
  }

  /// A line for each item of each class, as a journal has it that imported the store.
  private func lines(of store: LegacyStore, _ folder: TemporaryFolder) throws -> [String: [String]] {
    let journal = try folder.journal()
    try journal.importStore(store)
    let exported = ExportedItems(journal.state, ImportMemory(journal.state, .archive, name: ""))
    var lines: [String: [String]] = [:]
    for item in journal.state.things {
      let className = exported.className(of: item)
      guard !className.isEmpty, !className.hasPrefix("{") else { continue }
      lines[className, default: []].append(Self.line(exported.fields(of: item)))
    }
    return lines
  }

  /// The fields that are texts, numbers and booleans.
  private static func line(_ fields: [String: FieldValue]) -> String {
    fields.sorted { $0.key.unicodeScalars.lexicographicallyPrecedes($1.key.unicodeScalars) }.compactMap {
      key, value in
      switch value {
      // Leave out members that the importer adds, and empty texts for missing values.
      case _ where key.hasPrefix("$"), .string(""): nil
      case .string(let text): "\(key)=s\(Data(text.utf8).base64EncodedString())"
      case .bool(let flag): "\(key)=b\(flag)"
      case .integer(let number): "\(key)=n\(Double(number).bitPattern)"
      case .unsigned(let number): "\(key)=n\(Double(number).bitPattern)"
      case .double(let number): "\(key)=n\(number.bitPattern)"
      default: nil
      }
    }.joined(separator: " ")
  }

  private static let script = """
    import base64, json, plistlib, struct, sys, uuid
    archive = plistlib.load(open(sys.argv[1], 'rb'))
    objects = archive['$objects']
    def uid(v):
        if isinstance(v, plistlib.UID): return v.data
        if isinstance(v, dict) and list(v) == ['CF$UID']: return v['CF$UID']
        return None
    def deref(v):
        n = uid(v)
        return v if n is None else objects[n]
    def name(o):
        c = o.get('$class') if isinstance(o, dict) else None
        return None if c is None else deref(c)['$classname']
    lines = {}
    for o in objects:
        c = name(o)
        if c not in sys.argv[2:]: continue
        parts = []
        for k in sorted(o):
            if k.startswith('$'): continue
            v = deref(o[k])
            if name(v) in ('NSString', 'NSMutableString') and 'NS.string' in v: v = v['NS.string']
            elif name(v) == 'NSURL' and deref(v['NS.base']) == '$null': v = deref(v['NS.relative'])
            elif name(v) == 'NSUUID': v = str(uuid.UUID(bytes=v['NS.uuidbytes'])).upper()
            elif isinstance(v, dict): continue
            if v in ('$null', ''): continue
            if isinstance(v, str):
                parts.append(k + '=s' + base64.b64encode(v.encode()).decode())
            elif isinstance(v, bool): parts.append(k + '=b' + ('true' if v else 'false'))
            elif isinstance(v, (int, float)):
                parts.append(k + '=n' + str(struct.unpack('>Q', struct.pack('>d', float(v)))[0]))
        lines.setdefault(c, []).append(' '.join(parts))
    json.dump(lines, sys.stdout)
    """

  /// The lines that Python gives for each class, nil if it can't read the file.
  private func pythons(_ file: URL, _ folder: TemporaryFolder, classes: [String]) throws -> [String: Set<
    String
  >]? {
    let script = try folder.write("read.py", Data(Self.script.utf8))
    let output = try folder.write("lines.json", Data())
    let process = Process()
    process.executableURL = URL(fileURLWithPath: try #require(Programs.python))
    process.arguments = [script.path, file.path] + classes
    process.standardOutput = try FileHandle(forWritingTo: output)
    process.standardError = FileHandle.nullDevice
    try process.run()
    process.waitUntilExit()
    guard process.terminationStatus == 0 else { return nil }
    let lines = try JSONDecoder().decode([String: [String]].self, from: Data(contentsOf: output))
    return lines.mapValues { Set($0) }
  }
}
