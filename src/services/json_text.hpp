// json_text: JSON that goes to a page in a browser and comes from it.
#pragma once

#include <nlohmann/json.hpp>

#include <stdexcept>
#include <string>
#include <string_view>

namespace coracle::services {

using nlohmann::ordered_json;

// A request of a page that is not as the page writes it, or asks for what there is not.
class invalid_request : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Servers choose names and texts: bytes that are not UTF-8 are replaced.
[[nodiscard]] inline std::string text_of(const ordered_json& value) {
  return value.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

// Returns an object. Throws invalid_request.
[[nodiscard]] inline ordered_json parse_object(std::string_view text) {
  ordered_json value = ordered_json::parse(text, nullptr, false);
  if (!value.is_object()) throw invalid_request("the body must be an object of JSON");
  return value;
}

// Returns a member of that type, or `absent` if there is none. Throws invalid_request.
[[nodiscard]] inline std::string string_member(const ordered_json& of, const char* name) {
  const auto found = of.find(name);
  if (found == of.end() || found->is_null()) return {};
  if (!found->is_string()) throw invalid_request(std::string(name) + " must be a string");
  return found->get<std::string>();
}
[[nodiscard]] inline bool bool_member(const ordered_json& of, const char* name) {
  const auto found = of.find(name);
  if (found == of.end() || found->is_null()) return false;
  if (!found->is_boolean()) throw invalid_request(std::string(name) + " must be true or false");
  return found->get<bool>();
}

}  // namespace coracle::services
