// completion: coracle completion prints shell completions, generated from the command line's definition.
#include "tools/commands.hpp"
#include "tools/manual/command_names.hpp"

#include <CLI/CLI.hpp>

#include <cstdio>
#include <string>
#include <vector>

namespace coracle::tools {

namespace {

std::string joined(const std::vector<std::string>& words) {
  std::string all;
  for (const std::string& word : words) all += (all.empty() ? "" : " ") + word;
  return all;
}

// Completes options and subcommands; everything else is completed as a file name.
void print_bash(const CLI::App& app) {
  std::printf(
      "_coracle() {\n"
      "  local word=${COMP_WORDS[COMP_CWORD]} words\n"
      "  if [[ $COMP_CWORD -eq 1 ]]; then\n"
      "    words='%s'\n"
      "  else\n"
      "    case ${COMP_WORDS[1]} in\n",
      joined(commands_of(app)).c_str());
  for (const CLI::App* one : app.get_subcommands({}))
    std::printf("      %s) words='%s' ;;\n", one->get_name().c_str(), joined(flags_of(*one)).c_str());
  std::printf(
      "    esac\n"
      "    [[ $word == -* ]] || words=\n"
      "  fi\n"
      "  COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
      "}\n"
      "complete -o default -F _coracle coracle\n");
}

void print_fish(const CLI::App& app) {
  std::printf("complete -c coracle -n __fish_use_subcommand -f -a '%s'\n", joined(commands_of(app)).c_str());
  for (const CLI::App* one : app.get_subcommands({}))
    for (const CLI::Option* o : one->get_options())
      for (const std::string& name : o->get_lnames())
        std::printf("complete -c coracle -n '__fish_seen_subcommand_from %s' -l %s\n",
                    one->get_name().c_str(), name.c_str());
}

// zsh can run bash completions.
void print_zsh(const CLI::App& app) {
  std::printf("autoload -U +X bashcompinit && bashcompinit\n");
  print_bash(app);
}

}  // namespace

void add_completion(CLI::App& app, action& chosen) {
  CLI::App* const command =
      app.add_subcommand("completion", "prints what a shell reads to complete our command line");
  struct shell {
    const char* name;
    const char* text;
    void (*print)(const CLI::App&);
  };
  command->require_subcommand(1);
  for (const shell& one : {shell{"bash", "source <(coracle completion bash)", print_bash},
                           shell{"zsh", "source <(coracle completion zsh)", print_zsh},
                           shell{"fish", "coracle completion fish | source", print_fish}})
    command->add_subcommand(one.name, one.text)->callback([&app, &chosen, print = one.print] {
      chosen = [&app, print] {
        print(app);
        return 0;
      };
    });
}

}  // namespace coracle::tools
