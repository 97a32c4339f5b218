#include "protocol/web/accept.hpp"

#include "protocol/web/ascii.hpp"
#include "protocol/web/media_type.hpp"

namespace coracle::protocol::web {

int parse_weight(std::string_view text) noexcept {
  if (text.empty() || text.size() > 5 || (text.front() != '0' && text.front() != '1')) return 0;
  if (text.size() > 1 && text[1] != '.') return 0;
  int weight = (text.front() - '0') * weight_max;
  int unit = weight_max;
  for (const char c : text.size() > 2 ? text.substr(2) : std::string_view()) {
    if (c < '0' || c > '9') return 0;
    unit /= 10;
    weight += (c - '0') * unit;
  }
  return weight <= weight_max ? weight : 0;
}

namespace {

// The weight stands behind the parameters of the media type. Those are ignored: "application/json;v=1" is
// JSON to a server that has one version of it.
int weight_of(std::string_view parameters) noexcept {
  while (!parameters.empty()) {
    const std::size_t semicolon = parameters.find(';');
    const std::string_view one = trim(parameters.substr(0, semicolon));
    parameters.remove_prefix(semicolon == std::string_view::npos ? parameters.size() : semicolon + 1);
    if (starts_with_ignoring_case(one, "q=")) return parse_weight(trim(one.substr(2)));
  }
  return weight_max;
}

}  // namespace

int accepted_weight(std::span<const std::string_view> values, std::string_view type,
                    std::string_view subtype) noexcept {
  bool has_elements = false;
  int best_specificity = 0;
  int weight = 0;
  for (std::string_view list : values) {
    while (!list.empty()) {
      const std::string_view element = take_list_element(list);
      if (element.empty()) continue;
      has_elements = true;
      const auto range = parse_media_type(element);
      if (!range) continue;
      int specificity = 0;
      if (range->is(type, subtype)) specificity = 3;
      else if (range->is(type, "*")) specificity = 2;
      else if (range->is("*", "*")) specificity = 1;
      if (specificity <= best_specificity) continue;
      best_specificity = specificity;
      weight = weight_of(range->parameters);
    }
  }
  return has_elements ? weight : weight_max;
}

}  // namespace coracle::protocol::web
