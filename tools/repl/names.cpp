#include "tools/repl/names.hpp"

#include "tools/failure.hpp"

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
  for (const std::string& name : services()) {
    const auto& s = at_.types().service(name);
    for (int i = 0; i < s.method_count(); ++i) {
      all.push_back(path_of(*s.method(i)).substr(1));
      const std::string alone(s.method(i)->name());
      ++having[alone];
    }
  }
  for (const auto& [name, services] : having)
    if (services == 1) all.push_back(name);
  return all;
}

std::vector<std::string> names::messages() const {
  std::vector<std::string> all;
  for (const std::string& name : services()) {
    const auto& s = at_.types().service(name);
    for (int i = 0; i < s.method_count(); ++i) {
      all.push_back(std::string(s.method(i)->input_type()->full_name()));
      all.push_back(std::string(s.method(i)->output_type()->full_name()));
    }
  }
  return all;
}

// Completes field names in JSON: {"ti becomes {"title":
std::vector<std::string> names::fields(const std::string& method, std::string_view word) const {
  const std::size_t quote = word.rfind('"');
  if (quote == std::string_view::npos) return {};
  const std::string before(word.substr(0, quote + 1));
  const auto* found = at_.types().find_method(method);
  if (!found && !service_.empty()) found = at_.types().service(service_).FindMethodByName(method);
  std::vector<std::string> all;
  for (int i = 0; found && i < found->input_type()->field_count(); ++i)
    all.push_back(before + std::string(found->input_type()->field(i)->json_name()) + "\":");
  return all;
}

std::vector<std::string> names::fitting(std::string_view before, std::string_view word) const try {
  std::istringstream stream{std::string(before)};
  const std::vector<std::string> words{std::istream_iterator<std::string>(stream), {}};
  if (words.empty())
    return beginning_with({"ls", "describe", "service", "call", "header", "help", "exit"}, word);
  if (words[0] == "call" && words.size() > 1) return beginning_with(fields(words[1], word), word);
  if (words.size() > 1) return {};
  std::vector<std::string> all;
  if (words[0] == "call" || words[0] == "describe") all = methods(word);
  if (words[0] == "ls" || words[0] == "service" || words[0] == "describe")
    for (auto& one : services()) all.push_back(std::move(one));
  if (words[0] == "describe")
    for (auto& one : messages()) all.push_back(std::move(one));
  return beginning_with(all, word);
} catch (const failure&) {
  return {};
}

}  // namespace coracle::tools
