import Foundation

// Everything happens in Program, where tests can call it.
exit(Program.run(Array(CommandLine.arguments.dropFirst())).rawValue)
