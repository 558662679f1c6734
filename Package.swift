// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "Journal",
  platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
  products: [
    .library(name: "CatalogModel", targets: ["CatalogModel"]),
    .library(name: "EntitySearch", targets: ["EntitySearch"]),
    .library(name: "InMemoryJournals", targets: ["InMemoryJournals"]),
    .library(name: "Journaling", targets: ["Journaling"]),
    .library(name: "JournalMaintenance", targets: ["JournalMaintenance"]),
    .library(name: "JournalServer", targets: ["JournalServer"]),
    .library(name: "KeyedArchiving", targets: ["KeyedArchiving"]),
    .library(name: "LegacyStores", targets: ["LegacyStores"]),
    .library(name: "PostgresLog", targets: ["PostgresLog"]),
    .library(name: "Tables", targets: ["Tables"]),
    .executable(name: "journal", targets: ["journal"]),
    .executable(name: "recipes", targets: ["Examples"]),
  ],
  targets: [
    // The modules, about from the lowest to the highest.
    .target(name: "Locks"),
    .target(name: "CFiles"),
    // LevelDB has no pkg-config file, so it is linked by its name.
    .target(
      name: "CLevelDB", dependencies: ["CFiles", "CCRC32C"], linkerSettings: [.linkedLibrary("leveldb")]),
    .target(name: "Files", dependencies: ["CFiles"]),
    .target(name: "LevelDB", dependencies: ["CLevelDB", "Files"]),
    // The files of damaged databases. Only diagnosis and salvage need them.
    .target(
      name: "CLevelDBSalvage", dependencies: ["CLevelDB", "CFiles"],
      cxxSettings: [.headerSearchPath("../CLevelDB")]),
    .target(name: "LevelDBSalvage", dependencies: ["CLevelDBSalvage", "CLevelDB", "LevelDB", "Files"]),
    .systemLibrary(
      name: "CLibCrypto", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
    .target(
      name: "CSHA256", dependencies: [.target(name: "CLibCrypto", condition: .when(platforms: [.linux]))]),
    .target(name: "SHA256", dependencies: [.target(name: "CSHA256", condition: .when(platforms: [.linux]))]),
    .target(name: "CCRC32C"),
    .target(name: "CBOR"),
    .target(name: "Words"),
    .target(name: "Tables"),
    .target(name: "PropertyLists", dependencies: ["CFiles", "Locks"]),
    .target(
      name: "Journaling",
      dependencies: [
        "Files", "LevelDB", "SHA256", "CCRC32C", "CBOR", "Words", "Tables", "PropertyLists", "Locks",
      ],
      path: "Journal"),
    .target(
      name: "CatalogModel", dependencies: ["Journaling", "CBOR", "Words", "Tables", "Locks", "SHA256"]),
    // Searches over entities of all kinds and all times. Most apps search items of one type as they are now.
    .target(name: "EntitySearch", dependencies: ["CatalogModel", "Journaling", "CBOR"]),
    // JSON of values and of catalogs, for the tools and the server. An app with a catalog does not compile it.
    .target(name: "JSON", dependencies: ["EntitySearch", "CatalogModel", "Journaling", "CBOR"]),
    // Journals without a folder, for tests and previews.
    .target(name: "InMemoryJournals", dependencies: ["Journaling", "Files", "Locks"]),
    // Archives as people's files have them. An app's journal does not need it.
    .target(name: "KeyedArchiving", dependencies: ["PropertyLists", "CFiles", "Locks"]),
    .target(
      name: "LegacyStores",
      dependencies: [
        "KeyedArchiving", "PropertyLists", "CatalogModel", "Journaling", "CBOR", "SHA256", "Locks", "Files",
      ]),
    // The nodes of a shared journal, wherever its log is. An app without shared journals does not compile it.
    .target(name: "SharedJournals", dependencies: ["Journaling", "Files", "Locks", "SHA256"]),
    // Verification, copies, erasure, diagnosis and salvage. An app that leaves them to the command line does not need it.
    .target(
      name: "JournalMaintenance",
      dependencies: ["Journaling", "SharedJournals", "LevelDBSalvage", "LevelDB", "Files", "CBOR", "SHA256"]),
    // Logs in PostgreSQL. No module before this one needs libpq.
    .systemLibrary(
      name: "CLibPQ", pkgConfig: "libpq", providers: [.apt(["libpq-dev"]), .brew(["libpq"])]),
    .target(
      name: "PostgresLog",
      dependencies: ["SharedJournals", "Journaling", "CLibPQ", "Files", "Locks", "SHA256"]),
    // A journal over HTTP. No module before this one needs libmicrohttpd, and an app that does not serve a journal does
    // not link it.
    .systemLibrary(
      name: "CLibMicroHTTPD", pkgConfig: "libmicrohttpd",
      providers: [.apt(["libmicrohttpd-dev"]), .brew(["libmicrohttpd"])]),
    .target(name: "CMicroHTTPD", dependencies: ["CLibMicroHTTPD"]),
    .target(name: "HTTPServer", dependencies: ["CMicroHTTPD", "Locks"]),
    .target(name: "CViewerPage", exclude: ["page"]),
    .target(
      name: "JournalServer",
      dependencies: [
        "EntitySearch", "HTTPServer", "CViewerPage", "CatalogModel", "Journaling", "CBOR", "JSON", "SHA256",
        "Locks",
      ]),

    // Only tools need SQLite: to export histories, and to compare themselves with it.
    .systemLibrary(name: "CLibSQLite", providers: [.apt(["libsqlite3-dev"])]),

    // The models of six small apps, and one of them as a program: how little code an app needs.
    .executableTarget(
      name: "Examples",
      dependencies: ["InMemoryJournals", "CatalogModel", "Journaling", "CBOR", "SHA256", "KeyedArchiving"]),

    // The tools. CatalogModel re-exports Journaling, and with it CBOR and SHA256. They are named nevertheless, because
    // the package manager rebuilds a target only if a dependency that it names has changed.
    .executableTarget(
      name: "journal",
      dependencies: [
        "EntitySearch", "JournalMaintenance", "LegacyStores", "KeyedArchiving", "JournalServer",
        "CatalogModel", "Journaling", "PostgresLog", "CBOR", "SHA256", "JSON", "Files", "Locks", "CLibSQLite",
      ],
      path: "Tools/journal"),
    .systemLibrary(name: "CInvoices", path: "Tools/benchmark/CInvoices"),
    .executableTarget(
      name: "benchmark",
      dependencies: [
        "CatalogModel", "JournalMaintenance", "JournalServer", "Journaling", "PostgresLog", "CBOR", "SHA256",
        "Files", "Locks", "CLibLevelDB",
        "CLibPQ", "CLibSQLite", "CInvoices",
      ],
      path: "Tools/benchmark",
      exclude: ["CInvoices"]),

    // The tests: a folder for each module that is tested by itself, then those that need a whole journal.
    .systemLibrary(
      name: "CLibLevelDB", path: "Tests/CLibLevelDB", providers: [.apt(["libleveldb-dev"])]),
    .target(
      name: "TestSupport", dependencies: ["CBOR", "CLibLevelDB", "Files", "LevelDB"],
      path: "Tests/TestSupport"),
    .target(name: "ForeignNames", path: "Tests/ForeignNames"),
    .target(name: "LogbookModel", dependencies: ["Journaling"], path: "Tests/LogbookModel"),
    .target(
      name: "ClubModel", dependencies: ["CatalogModel", "Journaling", "TestSupport"], path: "Tests/ClubModel"),
    .executableTarget(
      name: "DocumentedCode",
      dependencies: [
        "InMemoryJournals", "CatalogModel", "EntitySearch", "JournalMaintenance", "JournalServer",
        "PostgresLog",
      ],
      path: "Tests/DocumentedCode"),
    .executableTarget(
      name: "CrashChild",
      dependencies: [
        "CatalogModel", "JournalMaintenance", "Journaling", "PostgresLog", "Files", "LevelDB", "Locks",
        "LogbookModel",
        "TestSupport",
      ],
      path: "Tests/CrashChild"),
    .testTarget(name: "LocksTests", dependencies: ["Locks"]),
    .testTarget(
      name: "LevelDBTests", dependencies: ["LevelDBSalvage", "LevelDB", "Files", "Locks", "TestSupport"]),
    .testTarget(name: "CBORTests", dependencies: ["CBOR", "TestSupport"]),
    .testTarget(name: "WordsTests", dependencies: ["Words"]),
    .testTarget(name: "JSONTests", dependencies: ["JSON", "CBOR", "TestSupport"]),
    .testTarget(name: "TablesTests", dependencies: ["Tables", "Locks", "TestSupport"]),
    .testTarget(
      name: "KeyedArchivingTests", dependencies: ["KeyedArchiving", "PropertyLists", "Locks", "TestSupport"]),
    .testTarget(
      name: "JournalingTests",
      dependencies: [
        "InMemoryJournals", "SharedJournals", "JournalMaintenance", "Journaling", "PropertyLists",
        "PostgresLog", "Files", "LevelDB", "Locks", "SHA256", "LogbookModel", "TestSupport",
      ],
      exclude: ["Reader"]),
    .testTarget(
      name: "PostgresLogTests",
      dependencies: [
        "SharedJournals", "JournalMaintenance", "PostgresLog", "Journaling", "Files", "Locks", "SHA256",
        "LogbookModel", "TestSupport", "CrashChild",
      ]),
    .testTarget(
      name: "CatalogModelTests",
      dependencies: [
        "EntitySearch", "InMemoryJournals", "JournalMaintenance", "CatalogModel", "JSON", "JournalServer",
        "Journaling", "CBOR", "SHA256", "KeyedArchiving", "PropertyLists", "Tables", "Files", "LevelDB",
        "Locks", "ForeignNames", "ClubModel", "TestSupport",
      ]),
    .testTarget(
      name: "JournalServerTests",
      dependencies: [
        "JournalMaintenance", "JournalServer", "CatalogModel", "Journaling", "PostgresLog", "CBOR", "JSON",
        "SHA256", "Files", "Locks", "ClubModel", "TestSupport", "journal",
      ]),
    .testTarget(
      name: "ExamplesTests",
      dependencies: [
        "Examples", "CatalogModel", "JournalMaintenance", "Journaling", "CBOR", "SHA256", "KeyedArchiving",
        "TestSupport",
      ]),
    .testTarget(
      name: "LegacyStoresTests",
      dependencies: [
        "LegacyStores", "Examples", "KeyedArchiving", "PropertyLists", "CatalogModel", "JournalMaintenance",
        "Journaling", "Files",
        "CBOR", "SHA256", "TestSupport",
      ]),
    .testTarget(
      name: "CommandLineTests",
      dependencies: [
        "InMemoryJournals", "JournalMaintenance", "CatalogModel", "Journaling", "LevelDB", "CBOR", "SHA256",
        "JSON", "KeyedArchiving", "LegacyStores", "Locks", "TestSupport", "journal", "DocumentedCode",
      ],
      exclude: ["Reader"]),
    .testTarget(
      name: "CrashTests",
      dependencies: [
        "CatalogModel", "JournalMaintenance", "Journaling", "LevelDB", "Files", "Locks", "LogbookModel",
        "TestSupport", "CrashChild",
      ]),
    .testTarget(
      name: "FuzzTests",
      dependencies: [
        "CatalogModel", "JournalMaintenance", "Journaling", "PropertyLists", "LevelDB", "Locks", "CBOR",
        "JSON", "LogbookModel",
        "TestSupport",
      ]),
  ],
  cxxLanguageStandard: .cxx17
)

// Under the thread sanitizer, only the tests that `.ci/run` runs there are built, with what they need.
if Context.environment["JOURNAL_SANITIZER"] == "thread" {
  package.products = []
  package.targets.removeAll { target in
    switch target.type {
    case .executable: true
    case .test:
      !["LocksTests", "JournalingTests", "CatalogModelTests", "KeyedArchivingTests"].contains(target.name)
    default: target.name == "LegacyStores"
    }
  }
}

for target in package.targets
where target.type != .system
  && !["CFiles", "CLevelDB", "CLevelDBSalvage", "CSHA256", "CCRC32C", "CMicroHTTPD"].contains(target.name)
{
  target.swiftSettings = [
    .swiftLanguageMode(.v6),
    .strictMemorySafety(),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
  ]
}
