import CatalogModel
import Testing

struct ColorTests {
  @Test func aColorComesBackFromItsHexText() throws {
    for step in UInt8.min...UInt8.max {
      let digits = (step < 16 ? "0" : "") + String(step, radix: 16, uppercase: true)
      let text = "#\(digits)00FF\(digits)"
      let color = try #require(Catalog.Color(hex: text))
      #expect(color.hex == text)
      #expect(Catalog.Color(hex: text.lowercased()) == color)
      #expect(color.red == Double(step) / 255)
    }
    #expect(Catalog.Color(hex: "#102030") == Catalog.Color(hex: "#102030FF"))
    #expect(Catalog.Color(hex: "#F80") == Catalog.Color(hex: "#FF8800"))
    #expect(Catalog.Color(hex: "#f807") == Catalog.Color(hex: "#FF880077"))
  }

  @Test(arguments: [
    "", "#", "102030FF", "#1020304", "#10203", "#GG2030FF", "#102030FF0", "FFF", "#1", "#12", "#FG0", "#é1",
    "#+1+2+3+4", "#é1020304",
  ])
  func otherTextsAreNoColors(_ text: String) {
    #expect(Catalog.Color(hex: text) == nil)
  }

  @Test func componentsOutsideOfTheRangePrintAsItsEnds() {
    #expect(Catalog.Color(red: -1, green: 2, blue: .nan, alpha: 0.5).hex == "#00FF0080")
    #expect(Catalog.Color(red: .infinity, green: -.infinity, blue: 1, alpha: 1).description == "#FF00FFFF")
  }
}
