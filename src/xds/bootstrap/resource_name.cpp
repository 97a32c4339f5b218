#include "xds/bootstrap/resource_name.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace coracle::xds {

std::optional<resource_name> parse_resource_name(std::string_view name, std::string_view type) {
  constexpr std::string_view scheme = "xdstp:";
  if (!name.starts_with(scheme)) return resource_name{{}, std::string(name)};
  std::string_view rest = name.substr(scheme.size());
  if (!rest.starts_with("//")) return std::nullopt;
  rest.remove_prefix(2);
  const auto slash = rest.find('/');
  if (slash == rest.npos) return std::nullopt;
  const std::string_view authority = rest.substr(0, slash);
  rest.remove_prefix(slash + 1);
  if (const auto fragment = rest.find('#'); fragment != rest.npos)
    return std::nullopt;  // directives are not for names
  const auto question = rest.find('?');
  const std::string_view path = rest.substr(0, question);
  const auto after_type = path.find('/');
  if (after_type == path.npos || path.substr(0, after_type) != type) return std::nullopt;

  std::vector<std::pair<std::string_view, std::string_view>> parameters;
  if (question != rest.npos) {
    for (std::string_view left = rest.substr(question + 1);;) {
      const auto end = left.find('&');
      const std::string_view one = left.substr(0, end);
      const auto equals = one.find('=');
      if (equals == 0 || equals == one.npos) return std::nullopt;
      parameters.emplace_back(one.substr(0, equals), one.substr(equals + 1));
      if (end == left.npos) break;
      left.remove_prefix(end + 1);
    }
    std::ranges::sort(parameters);
    const auto same = [](const auto& a, const auto& b) { return a.first == b.first; };
    if (std::ranges::adjacent_find(parameters, same) != parameters.end()) return std::nullopt;
  }
  resource_name found{std::string(authority), std::string(name.substr(0, name.find('?')))};
  char separator = '?';
  for (const auto& [key, value] : parameters) {
    found.canonical.append(1, std::exchange(separator, '&')).append(key).append(1, '=').append(value);
  }
  return found;
}

}  // namespace coracle::xds
