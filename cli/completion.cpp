// SPDX-License-Identifier: Apache-2.0
// Scripts that tell a shell the commands and their options, made from the program's own list.
#include <iostream>

#include "commands.h"
#include "support/str.h"

namespace tilewright::cli {
namespace {

struct Flag {
  std::string name;  // `--emit` or `-o`
  std::string help;
};
struct Command {
  std::string name, help;
  std::vector<Flag> flags;
};

std::vector<Command> commands_of(CLI::App& app) {
  std::vector<Command> out;
  for (CLI::App* sub : app.get_subcommands({})) {
    Command c{sub->get_name(), sub->get_description(), {}};
    for (const CLI::Option* o : sub->get_options()) {
      for (const std::string& n : o->get_lnames())
        c.flags.push_back({"--" + n, o->get_description()});
      for (const std::string& n : o->get_snames())
        c.flags.push_back({"-" + n, o->get_description()});
    }
    out.push_back(std::move(c));
  }
  return out;
}

/// Between single quotes; colons part names from texts in zsh.
std::string quoted(const std::string& text) {
  std::string out;
  for (const char ch : text) out += ch == '\'' ? "'\\''" : std::string(1, ch);
  return str("'", out, "'");
}

std::string names(const auto& list) {
  std::string out;
  for (const auto& item : list) out += str(out.empty() ? "" : " ", item.name);
  return out;
}

std::string bash(const std::vector<Command>& commands) {
  std::string out =
      str("_tilewright() {\n"
          "  local word=${COMP_WORDS[COMP_CWORD]} flags=\n"
          "  COMPREPLY=()\n"
          "  if [ \"$COMP_CWORD\" = 1 ]; then\n"
          "    COMPREPLY=($(compgen -W '",
          names(commands),
          "' -- \"$word\"))\n"
          "    return\n"
          "  fi\n"
          "  case ${COMP_WORDS[1]} in\n");
  for (const Command& c : commands)
    out += str("    ", c.name, ") flags='", names(c.flags), "';;\n");
  return out +
         "  esac\n"
         "  case $word in -*) COMPREPLY=($(compgen -W \"$flags\" -- \"$word\"));; esac\n"
         "}\n"
         "complete -o default -F _tilewright tilewright\n";
}

std::string zsh(const std::vector<Command>& commands) {
  std::string out =
      "#compdef tilewright\n"
      "_tilewright() {\n"
      "  local -a entries\n"
      "  if (( CURRENT == 2 )); then\n"
      "    entries=(";
  for (const Command& c : commands) out += str("\n      ", quoted(c.name + ":" + c.help));
  out +=
      ")\n"
      "    _describe command entries\n"
      "    return\n"
      "  fi\n"
      "  case ${words[2]} in\n";
  for (const Command& c : commands) {
    out += str("    ", c.name, ") entries=(");
    for (const Flag& f : c.flags) out += str("\n      ", quoted(f.name + ":" + f.help));
    out += ");;\n";
  }
  return out +
         "  esac\n"
         "  if [[ $PREFIX == -* ]]; then _describe option entries; else _files; fi\n"
         "}\n"
         "compdef _tilewright tilewright\n";
}

std::string fish(const std::vector<Command>& commands) {
  std::string out;
  for (const Command& c : commands) {
    out += str("complete -c tilewright -n __fish_use_subcommand -f -a ", c.name, " -d ",
               quoted(c.help), "\n");
    for (const Flag& f : c.flags)
      out += str("complete -c tilewright -n '__fish_seen_subcommand_from ", c.name, "' -",
                 f.name[1] == '-' ? str("l ", f.name.substr(2)) : str("s ", f.name.substr(1)),
                 " -d ", quoted(f.help), "\n");
  }
  return out;
}

}  // namespace

Action add_completion(CLI::App& app) {
  const auto shell = std::make_shared<std::string>();
  CLI::App* c =
      app.add_subcommand("completion", "Print a script that completes commands in a shell");
  c->add_option("SHELL", *shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  c->footer(
      "bash, zsh: put `source <(tilewright completion bash)` into ~/.bashrc, or zsh's into "
      "~/.zshrc.\nfish: `tilewright completion fish > "
      "~/.config/fish/completions/tilewright.fish`.");
  return [shell, &app] {
    const std::vector<Command> commands = commands_of(app);
    std::cout << (*shell == "bash"  ? bash(commands)
                  : *shell == "zsh" ? zsh(commands)
                                    : fish(commands));
    return 0;
  };
}

}  // namespace tilewright::cli
