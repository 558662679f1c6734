import Foundation

// All there is happens in Program, where tests can reach it.
exit(Program.run(Array(CommandLine.arguments.dropFirst())).rawValue)
