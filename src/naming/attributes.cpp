#include "naming/attributes.hpp"

#include <nlohmann/json.hpp>

#include <limits>
#include <utility>

namespace coracle::naming {

void add_attribute(client::endpoint& to, const std::string& name, std::string value) {
  if (to.attributes().size() >= attributes_max) return;
  std::size_t bytes = name.size() + value.size();
  for (const auto& [had, text] : to.attributes()) bytes += had.size() + text.size();
  if (bytes <= attribute_bytes_max && !name.empty()) to.attribute(name, std::move(value));
}

void add_attributes(client::endpoint& to, const nlohmann::json& object) {
  if (!object.is_object()) return;
  for (const auto& [name, value] : object.items()) {
    if (name == "weight") continue;
    if (to.attributes().size() >= attributes_max) return;
    if (value.is_string()) add_attribute(to, name, value.get<std::string>());
    else if (value.is_number() || value.is_boolean()) add_attribute(to, name, value.dump());
  }
}

std::optional<std::uint32_t> weight_in(const nlohmann::json& object, const char* name) {
  if (!object.is_object()) return std::nullopt;
  const auto found = object.find(name);
  if (found == object.end() || !found->is_number_unsigned() ||
      found->get<std::uint64_t>() > std::numeric_limits<std::uint32_t>::max())
    return std::nullopt;
  return found->get<std::uint32_t>();
}

}  // namespace coracle::naming
