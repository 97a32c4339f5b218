#include "tools/schema/unknown_name.hpp"

#include "tools/manual/closest_words.hpp"

#include <algorithm>
#include <cstddef>
#include <map>

namespace coracle::tools {

namespace {

constexpr std::size_t suggested_max = 4;

// "/movie.MovieService/AddMovie" becomes "movie.MovieService.AddMovie".
std::string with_dots(std::string_view name) {
  name.remove_prefix(std::min(name.find_first_not_of("/."), name.size()));
  std::string dotted(name);
  std::replace(dotted.begin(), dotted.end(), '/', '.');
  return dotted;
}

std::string lower(std::string text) {
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return text;
}

std::string_view last_parts(std::string_view name, std::size_t count) {
  std::size_t begin = name.size();
  while (count-- > 0 && begin != name.npos)
    begin = begin == 0 ? name.npos : name.find_last_of("/.", begin - 1);
  return begin == name.npos ? name : name.substr(begin + 1);
}

std::string listed(const std::vector<std::string>& names) {
  std::string all;
  for (const std::string& name : names) all += "\n  " + name;
  return all;
}

// As short as they were typed, unless that is ambiguous.
std::vector<std::string> closest(const std::string& typed, const std::vector<std::string>& all) {
  const auto parts = static_cast<std::size_t>(std::count(typed.begin(), typed.end(), '.')) + 1;
  std::map<std::string, std::vector<std::string>> full_names;  // by what is compared
  std::vector<std::string> candidates;
  for (const std::string& name : all) {
    const std::string form = lower(with_dots(last_parts(name, parts)));
    std::vector<std::string>& same = full_names[form];
    if (same.empty()) candidates.push_back(form);
    same.push_back(name);
  }
  std::vector<std::string> found;
  for (const std::string& form : closest_words(lower(typed), candidates)) {
    const std::vector<std::string>& names = full_names[form];
    if (names.size() == 1) found.emplace_back(last_parts(names.front(), parts));
    else found.insert(found.end(), names.begin(), names.end());
  }
  if (found.size() > suggested_max) found.resize(suggested_max);
  return found;
}

}  // namespace

bool ends_in_parts(std::string_view name, std::string_view parts) {
  return name.ends_with(parts) &&
         (name.size() == parts.size() || name[name.size() - parts.size() - 1] == '.');
}

failure unknown_name(const std::string& kind, std::string_view typed, const std::vector<std::string>& all,
                     const std::string& hint) {
  const std::string dotted = with_dots(typed);
  std::vector<std::string> fitting;
  for (const std::string& one : all)
    if (ends_in_parts(with_dots(one), dotted)) fitting.push_back(one);
  if (fitting.size() > 1) return failure(std::string(typed) + " is ambiguous; there are:" + listed(fitting));
  const std::string text = "there is no " + kind + " " + std::string(typed);
  const std::vector<std::string> similar = closest(dotted, all);
  if (!similar.empty()) return failure(text + suggestion(similar));
  if (!hint.empty() || all.empty()) return failure(text, hint);
  return failure(text + "; there are:" + listed(all));
}

}  // namespace coracle::tools
