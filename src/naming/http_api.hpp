// http_api: GET and PUT requests to the HTTP API of a registry, over a channel.
#pragma once

#include "coracle/base/result.hpp"
#include "coracle/client/call_options.hpp"
#include "coracle/client/channel_handle.hpp"
#include "coracle/client/client_stream.hpp"
#include "coracle/client/http_observer.hpp"
#include "coracle/coro/task.hpp"
#include "coracle/rpc/bytes_message.hpp"
#include "coracle/security/credentials.hpp"

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace coracle::naming {

// The parameters of queries that the sources have; a request has some of them.
inline constexpr std::array<std::string_view, 12> http_parameters{"labelSelector",
                                                                  "limit",
                                                                  "continue",
                                                                  "watch",
                                                                  "resourceVersion",
                                                                  "allowWatchBookmarks",
                                                                  "timeoutSeconds",
                                                                  "passing",
                                                                  "index",
                                                                  "wait",
                                                                  "tag",
                                                                  "dc"};

class http_request {
 public:
  // path: without the first slash; its characters are escaped where it needs that.
  explicit http_request(std::string path) : path_(std::move(path)) {}
  // name: one of http_parameters. A value that is empty is not sent.
  http_request& set(std::string_view name, std::string_view value);
  http_request& header(std::string name, std::string value);
  // Of a PUT.
  http_request& body(std::string_view json);

 private:
  friend class http_api;
  std::string path_;
  std::string fields_;  // encoded
  std::vector<std::pair<std::string, std::string>> headers_;
};

// What a response said before its body.
class http_head final : public http_observer {
 public:
  void response_headers(const http::header_list& fields, http_version) noexcept override;
  int code = 0;  // 0: there was no response
  std::string index;  // X-Consul-Index
  bool filtered = false;  // X-Consul-Results-Filtered-By-ACLs
};

// Lives on one loop. One request at a time. REST over HTTP/1.1, whose channel makes connections, TLS and
// timeouts; bodies are passed as they are.
class http_api {
 public:
  // On a loop. server: a target of a channel.
  http_api(const std::string& server, const channel_credentials& credentials);

  // The body of a response whose status is 2xx, with at most document_bytes_max bytes. For another one the
  // status says which it was. `r` must outlive the await.
  [[nodiscard]] task<result<std::string>> get(const http_request& r, duration timeout);

  // As above, by PUT.
  [[nodiscard]] task<result<std::string>> put(const http_request& r, duration timeout);

  // A response whose body is read while it arrives.
  class body_stream {
   public:
    // Returns the next piece, or nothing at the end of the body. The status is DEADLINE_EXCEEDED if none
    // comes for `silence`, and also when the time of the request has passed.
    [[nodiscard]] task<result<std::optional<std::string>>> next(duration silence);

   private:
    friend class http_api;
    explicit body_stream(server_streaming_call<bytes_message> call) : call_(std::move(call)) {}
    server_streaming_call<bytes_message> call_;
  };
  [[nodiscard]] body_stream stream(const http_request& r, duration timeout);

  // Of the last response.
  [[nodiscard]] const http_head& head() const noexcept { return *head_; }

 private:
  [[nodiscard]] task<result<std::string>> call(const char* method, const http_request& r, duration timeout);
  // Returns the message for the request, and sets the options of its call.
  [[nodiscard]] bytes_message begin(const http_request& r, duration timeout, call_options& options);

  std::shared_ptr<http_head> head_ = std::make_shared<http_head>();
  channel channel_;
};

}  // namespace coracle::naming
