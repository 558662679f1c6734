// Kept as the pages show it.
// swift-format-ignore-file
import CatalogModel
import Foundation

@testable import Examples

/// The code about the map of places in Documentation/ComingFromNSCoding.md. The test is that it compiles.
func useOfThePlaceBook(_ url: URL, _ food: CategoryID, _ here: Coordinate) throws {
  let book = try PlaceBook(at: url)                                // adds default categories at the first launch
  try book.add(Place(name: "Pier 39", latitude: 37.8, longitude: -122.4), in: food)
  print(try book.places(in: food).values)                          // by category
  print(try book.places(nearestTo: here))                          // nearest first
  print(try book.places(asOf: RevisionSelector("2026-08-01")).values)
}
