// Kept as the page shows it.
// swift-format-ignore-file
import CatalogModel
import EntitySearch
import Foundation

struct Club: CatalogItem {
  static let kind = "club"
  var name: String
}

struct Member: CatalogItem {
  static let kind = "member"
  static let indexes = [Index(\Member.fee), Index(\.level), Index(\.joined)]
  enum Level: String, Codable, QueryValue { case guest, regular }

  var name: String
  var level: Level?
  var fee: Decimal
  var joined: Int
  var isActive = true
  var terms: [String] = []
  var club: ItemID<Club>?
}

/// The program of Documentation/Queries.md.
func queries() throws {
  let journal = try CatalogJournal.openOrCreate(at: URL(filePath: "Clubs.journal"))
  try journal.commit(by: "ana", note: "first members") { draft in
    let (chess, choir) = (try draft.insert(Club(name: "Chess")), try draft.insert(Club(name: "Choir")))
    try draft.insert(Member(name: "Ana", level: .regular, fee: 19.5, joined: 2019, terms: ["multi"], club: chess))
    try draft.insert(Member(name: "Bob", fee: 0.5, joined: 2024, isActive: false, club: chess))
    try draft.insert(Member(name: "Eve", level: .regular, fee: 30, joined: 2021, terms: ["solo", "mul"], club: choir))
  }
  let state = journal.state
  let members = state.items(Member.self)

  print(try members.first?.name ?? "none", try members.sorted(by: \.fee, .descending).map(\.name))
  print(try members.filter(\.isActive).filter(.prefix(\.terms, "mul") && \.joined >= 2020).map(\.name))
  print(try members.filter(.satisfies { $0.name.lowercased() == $0.name.uppercased() }).count)

  print(try members.sum(\.fee), try members.average(\.joined) ?? 0, try members.max(\.fee) ?? 0)
  for (level, (count, total)) in try members.grouped(by: \.level, .count, .sum(\.fee)) {
    print(level?.rawValue ?? "no level", count, total)
  }

  for (member, club) in try members.including(\.club) {
    print(try member.name, try club?.name ?? "no club")
  }
  for (club, members) in try state.items(Club.self).including(Member.self, by: \.club) {
    print(try club.name, try members.map { try $0.name })
  }

  try journal.commit(by: "bob", note: "a new year") { draft in
    for member in draft.state.items(Member.self) { try draft.update(member.id) { $0.fee += 1 } }
    print(try draft.state.items(Member.self).sum(\.fee))
  }
  print(try journal.state(asOf: .head(back: 1)).items(Member.self).sum(\.fee))
  let periods = try journal.periods(of: ItemID<Member>(3), where: \.fee >= 20)
  print(periods.count, periods.first?.start.author ?? "never", periods.totalTime() < 3600)
  print(try journal.periods(where: \Member.fee >= 20).map(\.item))
}
