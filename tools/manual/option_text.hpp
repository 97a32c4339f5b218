// option_text: how help and the manual name options and describe them.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace coracle::tools {

// "-p, --plaintext", "--ca FILE", "--format {human,json,text}", or the name of a positional.
[[nodiscard]] std::string option_term(const CLI::Option& o);
// The description with the default.
[[nodiscard]] std::string option_content(const CLI::Option& o);
// "ADDRESS" and "[METHOD...]" for the positionals of a command.
[[nodiscard]] std::vector<std::string> positional_terms(const CLI::App& command);
// The groups of a command's options: its own, and then those that many commands share.
[[nodiscard]] std::vector<std::string> option_groups(const CLI::App& command);

[[nodiscard]] bool is_hidden(const CLI::App& command);

}  // namespace coracle::tools
