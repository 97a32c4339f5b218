// http_request: what a handler of a plain HTTP route can learn about its request.
#pragma once

#include "coracle/coro/stop_token.hpp"
#include "coracle/http/header_list.hpp"
#include "coracle/net/address.hpp"
#include "coracle/security/auth_context.hpp"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace coracle {

namespace server_internal {
struct http_request_data;  // private: src/server/http/http_request_data.hpp
}

/// A request of plain HTTP whose body has arrived. Copies refer to the same request, and views that a copy
/// returns are valid as long as one of them exists, also after the client has disconnected. Use it on the
/// handler's loop.
class http_request {
 public:
  /// Made by the server.
  explicit http_request(std::shared_ptr<const server_internal::http_request_data> data) noexcept
      : data_(std::move(data)) {}

  /// The method: "GET", "POST" and so on. A route of GET gets HEAD requests, too, whose responses the server
  /// sends without their bodies.
  [[nodiscard]] std::string_view method() const noexcept;
  /// The path as the client sent it, without the query: its percent-escapes are not decoded.
  [[nodiscard]] std::string_view path() const noexcept;
  /// What follows '?', not decoded; empty if there is none.
  [[nodiscard]] std::string_view query() const noexcept;
  /// The decoded value of the first parameter of the query with this name; '+' means a space (WHATWG URL
  /// 5.1). Nothing if there is none. The value may contain any bytes.
  [[nodiscard]] std::optional<std::string> parameter(std::string_view name) const;
  /// The decoded value of a variable of the route's path: "7" for `{id}` in "/movies/{id}". In the value of a
  /// variable that spans segments, such as `{name=**}`, "%2F" stays encoded. Throws usage_error if the path
  /// has no such variable.
  [[nodiscard]] std::string_view path_parameter(std::string_view name) const;

  /// The value of the first header field with this name, in any case. The engines remove the fields of the
  /// connection (RFC 9110 7.6.1) and content-length; several cookie fields are one (RFC 9113 8.2.3).
  [[nodiscard]] std::optional<std::string_view> header(std::string_view name) const;
  /// All header fields, with names in lower case, in the order in which they arrived.
  [[nodiscard]] const http::header_list& headers() const noexcept;
  /// The host and port that the client named (Host or :authority); empty if it named none.
  [[nodiscard]] std::string_view authority() const noexcept;
  /// The body, complete; empty if there is none.
  [[nodiscard]] std::string_view body() const noexcept;

  /// The address of the client's end of the connection.
  [[nodiscard]] const net::address& peer() const noexcept;
  /// The authenticated identity of the client and the protection of the connection; null in plaintext.
  [[nodiscard]] const auth_context* auth() const noexcept;
  /// Stops when the server begins to drain, on the handler's loop. A response that has no end, such
  /// as a stream of events, should end then; else the drain cuts it after server_options::drain_grace. Valid
  /// as long as the handler and its response.
  [[nodiscard]] coro::stop_token drain_token() const noexcept;

 private:
  std::shared_ptr<const server_internal::http_request_data> data_;
};

}  // namespace coracle
