/// Runs a program that the documentation shows, in the current folder.
switch CommandLine.arguments.dropFirst().first {
case "README.md": try readme()
case "Documentation/GettingStarted.md": try gettingStarted()
case "Documentation/Rules.md": try rules()
default: fatalError("usage: DocumentedCode PAGE")
}
