import CatalogModel
import Foundation

/// The recipe manager as a program: commands from standard input, and a screen that follows every change.
///
///     swift run recipes Recipes.journal ana
@main struct RecipeProgram {
  private static let usage = """
    usage: recipes JOURNAL [AUTHOR]

    Keeps recipes in a journal, which is created if it does not exist. Commands, one on each line:
      add Soup        rate 1 5        tag 1 hot        move 3 1        remove 2
      find So         best            all              undo            quit
    Numbers are those of the lines on the screen.

    """

  @MainActor static func main() async {
    let arguments = Array(CommandLine.arguments.dropFirst())
    guard let path = arguments.first, arguments.count <= 2, !path.hasPrefix("-") else {
      let asksForHelp = arguments == ["--help"] || arguments == ["-h"]
      (asksForHelp ? FileHandle.standardOutput : .standardError).write(Data(usage.utf8))
      exit(asksForHelp ? 0 : 64)
    }
    do {
      let author = arguments.count == 2 ? arguments[1] : NSUserName()
      let book = try RecipeBook(at: URL(filePath: path), author: author)
      let screen = try RecipeScreen(book)
      screen.follow(draw)
      for await line in typedLines() {
        if line == "quit" { break }
        do {
          if let answer = try await screen.run(line) { write(answer + "\n") }
        } catch {
          write(error.localizedDescription + "\n")
        }
      }
      try book.journal.close()
    } catch {
      FileHandle.standardError.write(Data("recipes: \(error.localizedDescription)\n".utf8))
      exit(1)
    }
  }

  /// Writes a screen and an empty line. Clears the screen first if standard output is a terminal.
  private static func draw(_ lines: [String]) {
    let clearing = isatty(STDOUT_FILENO) == 1 ? "\u{1b}[H\u{1b}[2J" : ""
    write(clearing + lines.map { $0 + "\n" }.joined() + "\n")
  }

  private static func write(_ text: String) { FileHandle.standardOutput.write(Data(text.utf8)) }

  /// The lines of standard input, read on a separate thread, because reading blocks.
  private static func typedLines() -> AsyncStream<String> {
    AsyncStream { lines in
      Thread.detachNewThread {
        while let line = readLine() { lines.yield(line) }
        lines.finish()
      }
    }
  }
}
