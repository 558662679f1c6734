import CatalogModel
import Foundation

extension Arguments {
  /// Opens the journal that is named on the command line for reading: nothing on disk is changed.
  func openJournal() throws -> CatalogJournal {
    try CatalogJournal.open(at: URL(fileURLWithPath: operand("JOURNAL")), mode: .readOnly)
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
