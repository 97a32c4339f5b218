// expected_json: whether a reply has what a file of requests expects of it.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <optional>
#include <string>
#include <vector>

namespace google::protobuf {
class Descriptor;
}

namespace coracle::tools {

struct unknown_field {
  std::string name;
  const google::protobuf::Descriptor* type;  // that has no such field
};

// The first name in an expected reply that is no field of its type. Any and other types with a JSON form of
// their own have any names.
[[nodiscard]] std::optional<unknown_field> find_unknown_field(const nlohmann::ordered_json& expected,
                                                              const google::protobuf::Descriptor& type);

// Returns one line for each difference, such as ".movieId is "2", expected "1"". A reply may have fields
// that are not expected. An array has exactly the expected elements. A field that is expected to have the
// default of its type may be missing, as in the JSON of protobuf. The strings "{{any}}" and "{{match
// REGEX}}" stand for any value, and for text that the regular expression (ECMAScript, without
// back-references) matches as a whole. Numbers equal strings with the same digits, since protobuf writes
// 64-bit numbers as strings. Throws failure for an invalid expression.
[[nodiscard]] std::vector<std::string> differences(const nlohmann::ordered_json& expected,
                                                   const nlohmann::ordered_json& reply);

}  // namespace coracle::tools
