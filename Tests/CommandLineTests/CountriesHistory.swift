import CatalogModel
import Foundation
import JSON
import TestSupport

/// How many commits `makeCountriesHistory` makes.
let countriesCommitCount = 300

/// Makes a repository with a list of made-up countries in one JSON file and a picture of each. Its commits edit and
/// remove fields, add, remove and reorder countries, change pictures, and now and then break the file and repair it.
func makeCountriesHistory(_ path: String) throws -> GitOracle {
  var random = SeededGenerator()
  var repository = try MadeRepository(path)
  var countries = (0..<40).map { Country($0, &random) }
  var next = countries.count
  repository.commit(
    "Begin the list", [.file("countries.json", Data(text(of: countries)))] + countries.map(\.picture))
  for number in 1..<countriesCommitCount {
    var changes: [MadeRepository.Change] = []
    let place = Int.random(in: 0..<countries.count, using: &random)
    switch Int.random(in: 0..<10, using: &random) {
    case 0:
      countries.append(Country(next, &random))
      changes.append(countries[countries.count - 1].picture)
      next += 1
    case 1 where countries.count > 20:
      changes.append(.delete(countries.remove(at: place).picturePath))
    case 2:
      countries[place].version += 1
      changes.append(countries[place].picture)
    case 3: countries.swapAt(place, 0)
    case 4: countries[place].fields["borders"] = nil
    default: countries[place].edit(&random)
    }
    // Some commits leave a file that is not JSON, as after a failed merge.
    let isBroken = number % 47 == 0
    let json = text(of: countries)
    changes.append(.file("countries.json", Data(isBroken ? Array("<<<<<<<\n".utf8) + json : json)))
    // This file makes each commit change something.
    changes.append(.file("notes/newest.txt", Data("\(number)\n".utf8)))
    if number % 29 == 0 { changes.append(.file("notes/\(number).txt", Data("note \(number)\n".utf8))) }
    repository.commit("Change \(number)", by: number % 3 == 0 ? "Bo" : "Ana", changes)
  }
  try repository.write()
  return GitOracle(path: path)
}

private struct Country {
  let code: String
  var version = 0
  var fields: [String: FieldValue]

  init(_ number: Int, _ random: inout SeededGenerator) {
    let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
    code = String([letters[number / 26 % 26], letters[number % 26], letters[number / 676 % 26]])
    fields = [
      "cca3": .string(code), "name": .dictionary(["common": .string("Country \(number)"), "native": .null]),
      "region": .string(["Africa", "Asia", "Europe", "Océan", ""][number % 5]),
      "latlng": .array([.double(Double(number) / 3), .integer(Int64(number) - 20)]),
      "borders": .array([]), "landlocked": .bool(number % 2 == 0),
    ]
    edit(&random)
  }

  mutating func edit(_ random: inout SeededGenerator) {
    let text = ["plain", "naïve", "e\u{301}", "😀 \u{2028}", "\\\"\n"].randomElement(using: &random)!
    switch Int.random(in: 0..<5, using: &random) {
    case 0: fields["area"] = .double(Double(random.next() >> 40) / 8)
    case 1: fields["capital"] = .array([.string(text), .string("City \(random.next() >> 50)")])
    case 2: fields["population"] = .integer(Int64(random.next() >> 30))
    case 3: fields["region"] = .string(["Africa", "Asia", "Europe"].randomElement(using: &random)!)
    default:
      fields["translations"] = .dictionary(["fr": .dictionary(["common": .string(text)]), "n": .integer(-1)])
    }
  }

  var picturePath: String { "data/\(code.lowercased()).svg" }

  var picture: MadeRepository.Change {
    .file(picturePath, Data("<svg version=\"\(version)\"><text>\(code)</text></svg>\n".utf8))
  }
}

private func text(of countries: [Country]) -> [UInt8] {
  Array(FieldValue.array(countries.map { .dictionary($0.fields) }).json.utf8)
}
