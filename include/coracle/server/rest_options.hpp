// rest_options: how methods are called over plain HTTP with JSON, by their google.api.http rules.
#pragma once

#include "coracle/base/impl/requirements.hpp"

#include <string>
#include <type_traits>
#include <vector>

namespace coracle {

/// The options of server::add_rest(). A value type: set the members that differ from the defaults.
class rest_options {
 public:
  /// All defaults.
  rest_options() noexcept {}
  /// Rules for .proto files that must not change, which replace the rules there: the text of a service config
  /// such as {"http": {"rules": [{"selector": "movie.MovieService.AddMovie", "post": "/movies"}]}}. Default:
  /// empty, only the option google.api.http in the .proto files counts.
  std::string http_rules;
  /// Whether replies name fields as the .proto does ("movie_id") and not in camelCase. Requests may use
  /// either. Default: false.
  bool proto_field_names = false;
  /// Whether replies contain fields that have their default value. Default: false.
  bool emit_defaults = false;
  /// Whether query parameters and fields of JSON that a message does not have are ignored. Otherwise they are
  /// an error, 400. Default: false.
  bool ignore_unknown = false;
  /// The request headers that handlers get as metadata, in lower case. Default: authorization.
  ///
  /// With last-event-id among them, handlers continue a stream of server-sent events that was cut: its events
  /// have the ids 1, 2, and so on, and a browser that reconnects sends the last id that it has. Otherwise the
  /// server answers such a request with 204, which stops the browser.
  std::vector<std::string> request_headers = {"authorization"};
  /// The metadata of handlers that becomes response headers, in lower case. Default: none.
  std::vector<std::string> response_headers;
};
static_assert(!std::is_aggregate_v<rest_options>, "GCC 12 destroys aggregates in co_await expressions twice");

}  // namespace coracle
