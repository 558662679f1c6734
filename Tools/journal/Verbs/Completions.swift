enum Completions: Verb {
  static let text = """
    completions: prints completions for bash, zsh or fish

    Prints the script with which a shell completes verbs and options. Tools/install installs it; by hand, in bash:
    source <(journal completions bash)

    Arguments:
    SHELL: bash, zsh or fish

    $ journal completions fish > ~/.config/fish/completions/journal.fish  # for fish
    $ source <(journal completions bash)  # completes journal's verbs in this bash
    """

  static func run(_ arguments: Arguments, _ terminal: Terminal) throws {
    let shell = arguments.operand("SHELL")
    guard let script = ["bash": bash, "zsh": zsh, "fish": fish][shell] else {
      throw Failure.wrongUse("there are completions for bash, zsh and fish, not for \(shell.printable)")
    }
    try terminal.output.write(script)
  }

  private static var names: String { Verbs.all.map { $0.name }.joined(separator: " ") }

  private static func options(of verb: any Verb.Type) -> String {
    verb.manual.syntax.allOptions.map(\.name).joined(separator: " ")
  }

  private static var bash: String {
    let cases = Verbs.all.map { "    \($0.name)) options=\"\(options(of: $0))\" ;;" }.joined(separator: "\n")
    return """
      _journal() {
        local word=${COMP_WORDS[COMP_CWORD]} options=
        if [ "$COMP_CWORD" -eq 1 ]; then
          COMPREPLY=($(compgen -W "\(names)" -- "$word"))
          return
        fi
        case ${COMP_WORDS[1]} in
          help) COMPREPLY=($(compgen -W "\(names)" -- "$word")); return ;;
      \(cases)
        esac
        case $word in
          -*) COMPREPLY=($(compgen -W "$options" -- "$word")) ;;
          *) COMPREPLY=() ;;
        esac
      }
      # Without a completion, bash completes names of files, and quotes them.
      complete -o default -F _journal journal

      """
  }

  private static var zsh: String {
    let verbs = Verbs.all.map { "    '\($0.name):\(quoted($0.manual.summary))'" }.joined(separator: "\n")
    let cases = Verbs.all.map { verb in
      let options = verb.manual.syntax.allOptions.map { option in
        "'\(option.isRepeated ? "*" : "")\(option.name)[\(bracketed(quoted(option.help)))]"
          + "\(option.value.map { ":\($0):" } ?? "")'"
      }
      return "    \(verb.name)) _arguments \(options.joined(separator: " ")) '*:file:_files' ;;"
    }
    return """
      #compdef journal
      _journal() {
        local -a verbs
        verbs=(
      \(verbs)
        )
        if (( CURRENT == 2 )); then
          _describe verb verbs
          return
        fi
        local verb=$words[2]
        shift words
        (( CURRENT-- ))
        case $verb in
          help) _describe verb verbs ;;
      \(cases.joined(separator: "\n"))
        esac
      }
      if [ "$funcstack[1]" = "_journal" ]; then _journal "$@"; else compdef _journal journal; fi

      """
  }

  private static var fish: String {
    var lines = ["complete -c journal -n __fish_use_subcommand -f"]
    lines.append("complete -c journal -n '__fish_seen_subcommand_from help' -f -a '\(names)'")
    for verb in Verbs.all {
      lines.append(
        "complete -c journal -n __fish_use_subcommand -f -a \(verb.name) -d '\(quoted(verb.manual.summary))'")
      for option in verb.manual.syntax.allOptions {
        let name =
          option.name.hasPrefix("--") ? "-l \(option.name.dropFirst(2))" : "-s \(option.name.dropFirst())"
        lines.append(
          "complete -c journal -n '__fish_seen_subcommand_from \(verb.name)' \(name)"
            + (option.value == nil ? "" : " -r") + " -d '\(quoted(option.help))'")
      }
    }
    return lines.joined(separator: "\n") + "\n"
  }

  private static func quoted(_ text: String) -> String { text.replacing("'", with: "’") }

  private static func bracketed(_ text: String) -> String {
    text.replacing("[", with: "(").replacing("]", with: ")").replacing(":", with: "\\:")
  }
}
