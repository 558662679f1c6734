import CatalogModel
import Foundation
import Journaling
import TestSupport
import Testing

@testable import Examples

/// What each app does at its launch if there is no journal yet, if the journal is empty, or if a file is missing.
@Suite struct LaunchTests {
  enum App: CaseIterable {
    case places
    case persons
    case toDos
    case bugs

    func launch(at url: URL) throws -> CatalogJournal {
      switch self {
      case .places: try PlaceBook(at: url).journal
      case .persons: try PersonList(at: url).journal
      case .toDos: try ToDoManager(at: url).journal
      case .bugs: try BugDatabase(at: url).journal
      }
    }

    /// How many categories an app makes by itself.
    var categoryCount: Int { self == .places ? PlaceBook.defaultCategories.count : 0 }
  }

  @Test(arguments: App.allCases) func theFirstLaunchFindsNothingAndMakesAJournal(_ app: App) throws {
    try withTemporaryFolder { folder in
      let url = folder.url.appending(path: "App.journal")
      var journal: CatalogJournal? = try app.launch(at: url)
      #expect(journal?.state.itemCount == 0)
      #expect(journal?.state.categoryCount == app.categoryCount)
      let revision = journal?.head.revision
      journal = nil

      journal = try app.launch(at: url)
      #expect(journal?.head.revision == revision, "a launch that finds all it needs writes nothing")
    }
  }

  @Test(arguments: App.allCases) func anEmptyJournalIsLikeAFirstLaunch(_ app: App) throws {
    try withTemporaryFolder { folder in
      let url = folder.url.appending(path: "App.journal")
      try CatalogJournal.create(at: url).close()
      let journal = try app.launch(at: url)
      #expect(journal.state.itemCount == 0)
      #expect(journal.state.categoryCount == app.categoryCount)
    }
  }

  @Test(arguments: App.allCases) func anEmptyFileInPlaceOfTheJournalIsReportedAndLeftAlone(_ app: App) throws
  {
    try withTemporaryFolder { folder in
      let url = folder.url.appending(path: "App.journal")
      try Data().write(to: url)
      let error = #expect(throws: JournalError.self) { try app.launch(at: url) }
      #expect(error?.code == .notAJournal)
      #expect(error?.path == url.path)
      #expect(try Data(contentsOf: url).isEmpty)
    }
  }

  @Test(arguments: App.allCases) func aJournalWithAMissingFileIsNotTakenForAFirstLaunch(_ app: App) throws {
    try withTemporaryFolder { folder in
      let url = folder.url.appending(path: "App.journal")
      var journal: CatalogJournal? = try app.launch(at: url)
      try journal?.commit { try $0.addItem(kind: "keepsake") }
      journal = nil
      let head = url.appending(path: "HEAD")
      let aside = folder.url.appending(path: "HEAD")
      try FileManager.default.moveItem(at: head, to: aside)

      let error = #expect(throws: JournalError.self) { try app.launch(at: url) }
      #expect(error?.code == .damaged)
      #expect(error?.path == head.path)

      try FileManager.default.moveItem(at: aside, to: head)
      journal = try app.launch(at: url)
      #expect(journal?.state.itemCount == 1)
    }
  }

  @Test(arguments: App.allCases) func aSecondInstanceOfARunningAppIsRefused(_ app: App) throws {
    try withTemporaryFolder { folder in
      let url = folder.url.appending(path: "App.journal")
      let journal = try app.launch(at: url)
      let error = #expect(throws: JournalError.self) { try app.launch(at: url) }
      #expect(error?.code == .locked)
      try journal.close()
    }
  }
}
