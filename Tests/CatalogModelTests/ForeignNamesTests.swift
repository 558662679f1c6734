import CatalogModel
import ForeignNames
import KeyedArchiving
import Tables
import Testing

/// A file that imports the journal and the frameworks of an app names the types of both without their modules.
///
/// The compiler is the test: two imported types of one name are ambiguous.
@Suite struct ForeignNamesTests {
  @Test func typesOfOtherFrameworksNeedNoModuleName() {
    let foreign: [Any.Type] = [
      Category.self, Color.self, Digest.self, Entity.self, Event.self, Image.self, Index.self, Item.self,
      Label.self,
      List.self, Query.self, Record.self, Row.self, State.self, Table.self, Text.self, Transaction.self,
      Value.self,
    ]
    for type in foreign { #expect(String(reflecting: type).hasPrefix("ForeignNames.")) }
  }

  @Test func typesOfTheJournalNeedNoModuleName() {
    let own: [Any.Type] = [
      Catalog.Category.self, Catalog.Color.self, Catalog.Image.self, Catalog.Item.self, Catalog.Tag.self,
      ContentDigest.self, EntityKey.self, EntityRecord.self, EntityRow.self, FieldValue.self,
      JournalEvent.self,
      SortedTable<Int, Int>.self,
    ]
    for type in own { #expect(!String(reflecting: type).hasPrefix("ForeignNames.")) }
  }
}
