// rest_methods: the methods that a channel can call over REST.
#pragma once

#include "coracle/base/result.hpp"

#include <initializer_list>
#include <memory>
#include <span>
#include <string_view>

namespace google::protobuf {
class ServiceDescriptor;
}

namespace coracle {

namespace client {
class rest_table;  // private: src/client/web/rest_table.hpp
}

/// The methods that a channel with call_protocol::rest can call, and their routes by google.api.http. A
/// handle that is cheap to copy; threads may share it.
///
///   coracle::channel_options options;
///   options.protocol = coracle::call_protocol::rest;
///   options.rest = coracle::rest_methods::make({movie::MovieService::descriptor()}).value();
///
/// A request becomes the path, the query and the body of the first rule that its values match; a stream of
/// requests is sent as JSON lines, with the path and the query of its first message. A stream of replies may
/// arrive as JSON lines or as an array. google.api.HttpBody is sent and received as it is. An error is read
/// from google.rpc.Status in the body, or otherwise from the HTTP status.
///
/// Metadata is sent and received as header fields. REST has no deadline on the wire: the call ends at its
/// deadline, and the server learns of that by the end of the connection or stream. Messages are not
/// compressed.
class rest_methods {
 public:
  /// No method.
  rest_methods() noexcept = default;
  /// Reads the rules from the options of the methods, or from `http_rules`: a service config file in JSON,
  /// {"http":{"rules":[...]}}, whose rules replace the options of their methods. The descriptors must outlive
  /// the channels; those of generated code do. The status is INVALID_ARGUMENT if a rule is invalid, or if
  /// http_rules selects a method that the services do not have; it names the method. `query`, such as
  /// "key=abc", begins the query of each request: parameters of the server's own that are no fields. It is
  /// sent as it is; the status is INVALID_ARGUMENT if a character has to be escaped.
  [[nodiscard]] static result<rest_methods> make(
      std::span<const google::protobuf::ServiceDescriptor* const> services, std::string_view http_rules = {},
      std::string_view query = {});
  /// The same for a list: `make({movie::MovieService::descriptor()})`.
  [[nodiscard]] static result<rest_methods> make(
      std::initializer_list<const google::protobuf::ServiceDescriptor*> services,
      std::string_view http_rules = {}, std::string_view query = {}) {
    return make(std::span(services.begin(), services.size()), http_rules, query);
  }

  /// Whether the method "/package.Service/Method" has a rule.
  [[nodiscard]] bool contains(std::string_view path) const noexcept;

  /// Whether it is the same object.
  friend bool operator==(const rest_methods&, const rest_methods&) = default;

  /// @cond  For the library.
  [[nodiscard]] const client::rest_table* table() const noexcept { return table_.get(); }
  /// @endcond

 private:
  std::shared_ptr<const client::rest_table> table_;
};

}  // namespace coracle
