#include "tools/repl/names.hpp"

#include "tools/failure.hpp"
#include "tools/repl/json_completion.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <sstream>

namespace coracle::tools {

namespace {

// Above this number of names, completion offers the package first, for example "movie.", then the names in
// it.
constexpr std::size_t offered_max = 100;

std::vector<std::string> beginning_with(const std::vector<std::string>& all, std::string_view word) {
  std::set<std::string> fitting;
  for (const std::string& one : all)
    if (one.starts_with(word)) fitting.insert(one);
  if (fitting.size() <= offered_max) return {fitting.begin(), fitting.end()};
  std::set<std::string> steps;
  for (const std::string& one : fitting) {
    const std::size_t dot = one.find('.', word.size() + 1);
    steps.insert(dot == one.npos ? one : one.substr(0, dot + 1));
  }
  return {steps.begin(), steps.end()};
}

}  // namespace

std::vector<std::string> names::services() const { return at_.types().services(); }

std::vector<std::string> names::methods(std::string_view word) const {
  std::vector<std::string> all;
  if (!service_.empty() && word.find_first_of("./") == word.npos) {
    const auto& s = at_.types().service(service_);
    for (int i = 0; i < s.method_count(); ++i) all.push_back(std::string(s.method(i)->name()));
    return all;
  }
  std::map<std::string, int> having;  // services by method name
  for (const auto* s : at_.types().defined_services()) {
    for (int i = 0; i < s->method_count(); ++i) {
      all.push_back(path_of(*s->method(i)).substr(1));
      const std::string alone(s->method(i)->name());
      ++having[alone];
    }
  }
  for (const auto& [name, services] : having)
    if (services == 1) all.push_back(name);
  return all;
}

std::vector<std::string> names::types(std::string_view word) const {
  std::vector<std::string> full = at_.types().type_names();
  if (word.find('.') != word.npos) return full;
  std::map<std::string, int> having;  // types by the last part of the name
  for (const std::string& name : full) ++having[name.substr(name.find_last_of('.') + 1)];
  std::vector<std::string> all;
  for (const auto& [name, types] : having)
    if (types == 1) all.push_back(name);
  const bool known =
      std::any_of(all.begin(), all.end(), [&](const std::string& one) { return one.starts_with(word); });
  return known ? all : full;
}

std::vector<std::string> names::json(const std::string& method, std::string_view before,
                                     std::string_view word) const {
  const auto* found = service_.empty() ? nullptr : at_.types().service(service_).FindMethodByName(method);
  if (!found) found = at_.types().find_method(method);
  if (!found) return {};
  const std::size_t call = before.find_first_not_of(" \t");
  const std::size_t begin = before.find(method, before.find_first_of(" \t", call)) + method.size();
  const std::string text = std::string(before.substr(begin)) + std::string(word);
  const json_completion made = complete_json(*found->input_type(), text, [&](std::string_view name) {
    return at_.types().find_message(std::string(name));
  });
  // The editor replaces `word`, which may begin before or after the token that is completed.
  const std::size_t word_begin = text.size() - word.size();
  std::vector<std::string> all;
  for (const std::string& token : made.tokens)
    if (word_begin <= made.begin) all.push_back(text.substr(word_begin, made.begin - word_begin) + token);
    else all.push_back(token.substr(word_begin - made.begin));
  return all;
}

std::vector<std::string> names::fitting(std::string_view before, std::string_view word) const try {
  std::istringstream stream{std::string(before)};
  const std::vector<std::string> words{std::istream_iterator<std::string>(stream), {}};
  if (words.empty())
    return beginning_with({"ls", "describe", "service", "call", "header", "help", "exit"}, word);
  if (words[0] == "call" && words.size() > 1) return beginning_with(json(words[1], before, word), word);
  if (words.size() > 1) return {};
  std::vector<std::string> all;
  if (words[0] == "call" || words[0] == "describe") all = methods(word);
  if (words[0] == "ls" || words[0] == "service" || words[0] == "describe")
    for (auto& one : services()) all.push_back(std::move(one));
  if (words[0] == "describe")
    for (auto& one : types(word)) all.push_back(std::move(one));
  return beginning_with(all, word);
} catch (const failure&) {
  return {};
}

}  // namespace coracle::tools
