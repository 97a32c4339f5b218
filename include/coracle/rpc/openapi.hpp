// openapi: describes services that are called over plain HTTP as a document of OpenAPI 3.1.
#pragma once

#include "coracle/base/result.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace google::protobuf {
class ServiceDescriptor;
}

namespace coracle {

/// How a document of OpenAPI is written.
enum class openapi_format : std::uint8_t { json, yaml };

/// What a document of OpenAPI contains.
class openapi_options {
 public:
  openapi_options() noexcept {}  // no aggregate: it may be passed into an awaited call

  std::string title = "API";
  std::string version = "1.0.0";  ///< of the API, not of OpenAPI
  std::string description;
  std::vector<std::string> servers;  ///< base URLs; none: those of the document itself
  bool rest = true;                  ///< the routes of google.api.http
  bool json_methods = true;          ///< POST /package.Service/Method
  bool proto_field_names = false;    ///< fields are named as in the .proto, not in camelCase
  /// A service config file in JSON, {"http":{"rules":[...]}}. Its rules replace the options of their methods.
  std::string http_rules;
  openapi_format format = openapi_format::json;
};

/// Returns the document for the services. Comments become descriptions if the descriptors have them: those
/// of generated code have not, those that protoc wrote with --include_source_info have. A custom HTTP
/// method that OpenAPI does not know, and "*", are left out. The status is INVALID_ARGUMENT if a rule is
/// invalid; it names the method.
[[nodiscard]] result<std::string> openapi_document(
    std::span<const google::protobuf::ServiceDescriptor* const> services,
    const openapi_options& options = {});

}  // namespace coracle
