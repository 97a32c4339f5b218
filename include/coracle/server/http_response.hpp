// http_response: what a handler of a plain HTTP route sends.
#pragma once

#include "coracle/coro/async_generator.hpp"
#include "coracle/http/header_list.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace coracle {

/// The response of a plain HTTP route: a body that is complete, or a stream whose pieces are sent as the
/// handler makes them.
///
///   co_return http_response::json(R"({"stars": 5})");
///   co_return http_response::text("no such movie\n", 404);
///   co_return http_response::stream("text/event-stream", events(request));
///
/// The server adds content-length and the fields for web pages of other origins. It sends no body in response
/// to HEAD, with 204 and with 304 (RFC 9110 9.3.2, 15.3.5, 15.4.5).
class http_response {
 public:
  /// A response without a body.
  explicit http_response(int code = 200) noexcept : status(code) {}

  /// A body of text/plain, in UTF-8.
  [[nodiscard]] static http_response text(std::string body, int code = 200);
  /// A body of text/html, in UTF-8.
  [[nodiscard]] static http_response html(std::string body, int code = 200);
  /// A body of application/json, in UTF-8; `body` is not checked.
  [[nodiscard]] static http_response json(std::string body, int code = 200);
  /// A body whose pieces are sent as they come: server-sent events, or a download that does not fit into
  /// memory. See `pieces`.
  [[nodiscard]] static http_response stream(std::string_view content_type,
                                            async_generator<std::string> pieces);

  /// @{
  /// Adds a header field, and returns this response. The name may have any case. A field that the server
  /// writes itself (content-length, transfer-encoding, connection) or whose value has a line break fails the
  /// request: the client gets 500, and the log says why.
  http_response& header(std::string_view name, std::string_view value) &;
  http_response&& header(std::string_view name, std::string_view value) && {
    return std::move(header(name, value));
  }
  /// @}

  /// The status: 200 to 599. Default: 200.
  int status = 200;
  /// The header fields, with names in lower case.
  http::header_list headers;
  /// The body, unless `pieces` is set.
  std::string body;
  /// The pieces of the body, which have any size; the next one is requested when the client has taken enough
  /// of those before. The generator runs under the same stop token as the handler: when the client has
  /// disconnected, its next wait throws coro::cancelled, and the generator is destroyed. If it throws another
  /// exception, the response is cut so that the client notices. Default: not set.
  std::optional<async_generator<std::string>> pieces;
  /// The total size of the pieces, if it is known: clients then show their progress. A response whose pieces
  /// have another size is cut. Default: not known.
  std::optional<std::uint64_t> content_length;
};
static_assert(!std::is_aggregate_v<http_response>,
              "GCC 12 destroys aggregates in co_await expressions twice");

}  // namespace coracle
