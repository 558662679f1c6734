// swift-tools-version: 6.2
import PackageDescription

// Its own package, so that only `Tools/benchmark-rivals` compiles it. It uses Journal as an app does.
let package = Package(
  name: "rivals",
  platforms: [.macOS(.v15)],
  dependencies: [.package(name: "journal", path: "../..")],
  targets: [
    .executableTarget(
      name: "rivals", dependencies: [.product(name: "CatalogModel", package: "journal")], path: "Sources",
      swiftSettings: [.swiftLanguageMode(.v6), .strictMemorySafety()])
  ]
)
