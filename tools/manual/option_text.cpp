#include "tools/manual/option_text.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>

namespace coracle::tools {

std::string option_term(const CLI::Option& o) {
  if (o.get_positional()) return o.get_name(true, true);
  std::string term = o.get_name(false, true);
  for (std::size_t at = 0; (at = term.find(',', at)) != term.npos; at += 2) term.insert(at + 1, " ");
  if (o.get_expected_max() == 0) return term;
  // Behind the type, CLI11 adds what the checks of the option say.
  std::string type = o.get_type_name();
  if (const std::size_t choices = type.find('{'); choices != type.npos)
    type = type.substr(choices, type.find('}', choices) + 1 - choices);
  else type = type.substr(0, type.find_first_of(": "));
  return term + " " + type;
}

std::string option_content(const CLI::Option& o) {
  const std::string usual = o.get_default_str();
  return o.get_description() + (usual.empty() || usual == "\"\"" ? "" : "; default: " + usual);
}

std::vector<std::string> positional_terms(const CLI::App& command) {
  std::vector<std::string> all;
  for (const CLI::Option* const o : command.get_options()) {
    if (!o->get_positional()) continue;
    const std::string term = o->get_name(true) + (o->get_expected_max() > 1 ? "..." : "");
    all.push_back(o->get_required() ? term : "[" + term + "]");
  }
  return all;
}

std::vector<std::string> option_groups(const CLI::App& command) {
  std::vector<std::string> all = command.get_groups();
  const auto place_of = [](const std::string& group) {
    return group == "Options" ? 0 : group == "Connection" ? 2 : group.starts_with("Definitions") ? 3 : 1;
  };
  std::erase(all, std::string());
  std::stable_sort(all.begin(), all.end(),
                   [&](const std::string& a, const std::string& b) { return place_of(a) < place_of(b); });
  return all;
}

bool is_hidden(const CLI::App& command) { return command.get_group().empty(); }

}  // namespace coracle::tools
