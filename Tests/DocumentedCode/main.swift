/// Runs a program that the documentation shows, in the current folder.
switch CommandLine.arguments.dropFirst().first {
case "README.md": try readme()
case "Documentation/GettingStarted.md": try gettingStarted()
case "Documentation/Relations.md": try relations()
case "Documentation/Uniqueness.md": try uniqueness()
case "Documentation/Migrations.md": try runMigrations()
case "Documentation/Queries.md": try queries()
case "Documentation/Search.md": try search()
case "Documentation/Undo.md": try undoInAMenu()
case "Documentation/Comparison.md": try await comparison()
default: fatalError("usage: DocumentedCode PAGE")
}
