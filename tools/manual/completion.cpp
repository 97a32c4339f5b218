// completion: coracle completion prints what a shell needs to complete command lines. The scripts are thin:
// they call the hidden command `coracle complete`.
#include "tools/commands.hpp"
#include "tools/standard_output.hpp"

#include <CLI/CLI.hpp>

namespace coracle::tools {

namespace {

// bash splits words at ':' and '=', so it passes the whole line, and replaces only what follows the last of
// these characters.
constexpr const char* bash = R"(_coracle() {
  local line=${COMP_LINE:0:COMP_POINT} candidate files= IFS=$'\n'
  local word=${COMP_WORDS[COMP_CWORD]} typed=${line##*[[:space:]]}
  [[ $word == [:=] ]] && word=
  local before=${typed%"$word"}
  COMPREPLY=()
  for candidate in $(coracle complete --line "$line" 2>/dev/null); do
    candidate=${candidate%%$'\t'*}
    if [[ $candidate == :files ]]; then
      files=1
    elif [[ $typed == *[:=]* ]]; then
      COMPREPLY+=("${candidate#"$before"}")
    else
      COMPREPLY+=("$candidate")
    fi
  done
  [[ -n $files ]] && compopt -o default 2>/dev/null
  return 0
}
complete -F _coracle coracle
)";

constexpr const char* zsh = R"(#compdef coracle
_coracle() {
  local -a values
  local line
  for line in "${(@f)$(coracle complete -- "${(@Q)words[2,CURRENT]}" 2>/dev/null)}"; do
    if [[ $line == :files ]]; then
      _files
    elif [[ $line == *$'\t'* ]]; then
      values+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}")
    elif [[ -n $line ]]; then
      values+=("${line//:/\\:}")
    fi
  done
  (( $#values )) && _describe -t values coracle values
}
if [[ $funcstack[1] == _coracle ]]; then
  _coracle "$@"
else
  compdef _coracle coracle
fi
)";

constexpr const char* fish = R"(function __coracle_complete
  set -l words (commandline -opc)
  for line in (coracle complete -- $words[2..-1] (commandline -ct) 2>/dev/null)
    if test "$line" = ":files"
      __fish_complete_path (commandline -ct)
    else
      printf '%s\n' $line
    end
  end
end
complete -c coracle -f -a '(__coracle_complete)'
)";

}  // namespace

void add_completion(CLI::App& app, action& chosen) {
  CLI::App* const command = app.add_subcommand("completion", "Print the completion script of a shell");
  struct shell {
    const char* name;
    const char* use;
    const char* script;
  };
  command->require_subcommand(1);
  for (const shell& one :
       {shell{"bash", "For ~/.bashrc: source <(coracle completion bash)", bash},
        shell{"zsh", "For ~/.zshrc, after compinit: source <(coracle completion zsh)", zsh},
        shell{"fish", "For config.fish: coracle completion fish | source", fish}})
    command->add_subcommand(one.name, one.use)->callback([&chosen, script = one.script] {
      chosen = [script] { return print(script), 0; };
    });
}

}  // namespace coracle::tools
