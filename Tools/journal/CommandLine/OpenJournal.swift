import CatalogModel
import Foundation

extension Arguments {
  /// Opens the journal that is named on the command line; for reading if not told otherwise, which changes
  /// nothing on disk.
  ///
  /// What is found wrong with snapshots until the program ends is said on standard error: it cost time only.
  func openJournal(
    _ terminal: Terminal, mode: CatalogJournal.Mode = .readOnly
  ) throws -> CatalogJournal {
    // A verb does what it says and nothing beside it: it takes no snapshots of its own accord.
    let journal = try CatalogJournal.open(
      at: URL(fileURLWithPath: operand("JOURNAL")), mode: mode, options: JournalOptions(snapshots: .manual))
    terminal.sayAtEnd { journal.snapshotProblems.map { "\($0); the answer does not depend on it" } }
    return journal
  }
}

extension Journal {
  /// The revision that a selector means.
  /// - Throws: ``Failure`` with ``ExitCode/no`` when there is none.
  func revision(named text: String) throws -> Revision {
    let selector = try RevisionSelector(text)
    do {
      return try revision(at: selector)
    } catch let error as JournalError where error.code == .notFound {
      throw Failure(.no, "\(error)")
    }
  }
}

extension Catalog {
  /// The entity that a name such as `item:42` means, whether or not it is there.
  static func entity(_ name: String) throws(Failure) -> Entity {
    do throws(JournalError) {
      return try entity(named: name)
    } catch {
      throw Failure(.wrongUse, "\(error)")
    }
  }
}
