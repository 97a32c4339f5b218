// http_rule: how a method is called over plain HTTP, from its option google.api.http or from a configuration.
#pragma once

#include "coracle/base/result.hpp"
#include "protocol/rest/path_template.hpp"

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace google::protobuf {
class MethodDescriptor;
}

namespace coracle::rest {

// One binding of a method; additional_bindings are further ones.
struct http_rule {
  std::string http_method;  // "GET"; "*" stands for every one
  protocol::rest::path_template path;
  std::string body;  // a field of the request, "*" for all of it, or empty
  std::string response_body;  // a field of the response, or empty for all of it
};

// Called for each binding that is invalid, with a status that names its method. The binding is left out; an
// empty function means that the whole operation fails with that status.
using invalid_rule_handler = std::function<void(const status&)>;

// Of one method: the rule itself and its additional_bindings. Each of them costs a route.
inline constexpr std::size_t http_rules_max = 64;

// Reads the option google.api.http by its number, 72295728, from the descriptor. The library has no
// generated class of google.api, so that it cannot conflict with that of the program. Returns an empty list
// if the method has no such option. The status is INVALID_ARGUMENT and names the method.
[[nodiscard]] result<std::vector<http_rule>> http_rules_of(const google::protobuf::MethodDescriptor& method,
                                                           const invalid_rule_handler& on_invalid = {});

// A service config file in JSON, for .proto files that must not change:
//   {"http": {"rules": [{"selector": "movie.MovieService.GetMovie", "get": "/v1/{name=movies/*}"}]}}
// Other members at the top are those of other readers, and ignored; unknown ones below are errors.
class http_rule_file {
 public:
  // With `on_invalid`, what is no JSON of this form is an error still.
  [[nodiscard]] static result<http_rule_file> parse(std::string_view json,
                                                    const invalid_rule_handler& on_invalid = {});
  // Returns the rules of a method by its full name, which replace its option. Null if there are none. If
  // several rules select the method, the last one counts.
  [[nodiscard]] const std::vector<http_rule>* find(std::string_view method_full_name) const;
  // All methods with rules, so that a server can report those that it does not serve.
  [[nodiscard]] const std::map<std::string, std::vector<http_rule>, std::less<>>& methods() const noexcept {
    return methods_;
  }

 private:
  std::map<std::string, std::vector<http_rule>, std::less<>> methods_;
};

}  // namespace coracle::rest
