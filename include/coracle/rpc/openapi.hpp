// openapi: describes services that are called over plain HTTP as a document of OpenAPI 3.1.
#pragma once

#include "coracle/base/result.hpp"

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace google::protobuf {
class ServiceDescriptor;
}

namespace coracle {

/// How a document of OpenAPI is written.
enum class openapi_format : std::uint8_t {
  json,  ///< as JSON
  yaml,  ///< as YAML
};

/// What a document of OpenAPI contains.
class openapi_options {
 public:
  /// All defaults.
  openapi_options() noexcept {}  // no aggregate: it may be passed into an awaited call

  std::string title = "API";         ///< the name of the API
  std::string version = "1.0.0";     ///< of the API, not of OpenAPI
  std::string description;           ///< a text in Markdown, about the API as a whole
  std::vector<std::string> servers;  ///< base URLs; none: those of the document itself
  bool rest = true;                  ///< the routes of google.api.http
  bool json_methods = true;          ///< POST /package.Service/Method
  bool proto_field_names = false;    ///< fields are named as in the .proto, not in camelCase
  /// A service config file in JSON, {"http":{"rules":[...]}}. Its rules replace the options of their methods.
  std::string http_rules;
  /// A serialized google.protobuf.FileDescriptorSet, whose comments become descriptions: its services are
  /// described in place of those of the same names. Generated code has no comments, and what protoc writes
  /// with --include_imports --include_source_info has, such as the .protoset of coracle_generate() with
  /// GENERATE_DESCRIPTORS. Several sets may follow one another.
  std::string descriptor_set;
  openapi_format format = openapi_format::json;  ///< how the document is written
  /// Called for each binding of a google.api.http rule that is invalid, with the reason, which names the
  /// method; the document is made without it. Empty: an invalid rule is an error of the whole document, as it
  /// is of server::add_rest().
  std::function<void(const std::string& reason)> on_invalid_rule;
};

/// Returns the document for the services; server::add_openapi() serves it. Comments become descriptions if
/// the descriptors have them, see openapi_options::descriptor_set. A custom HTTP method that OpenAPI does not
/// know, and "*", are left out. The status is INVALID_ARGUMENT if a rule is invalid and on_invalid_rule is
/// empty, and names the method; if http_rules is not JSON of that form; or if descriptor_set is none.
[[nodiscard]] result<std::string> openapi_document(
    std::span<const google::protobuf::ServiceDescriptor* const> services,
    const openapi_options& options = {});

}  // namespace coracle
