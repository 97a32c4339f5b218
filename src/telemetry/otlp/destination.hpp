// destination: one signal's way to a collector: its channel, and the requests on it.
#pragma once

#include "coracle/base/result.hpp"
#include "coracle/client/call_options.hpp"
#include "coracle/client/channel_handle.hpp"
#include "coracle/client/http_observer.hpp"
#include "coracle/coro/task.hpp"
#include "coracle/telemetry/otlp.hpp"
#include "telemetry/otlp/answer.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace coracle::telemetry_internal {

enum class signal : std::uint8_t { metrics, spans, logs };

[[nodiscard]] std::string_view name_of(signal s) noexcept;

// Where an endpoint leads to.
struct endpoint_parts {
  std::string target;  // of the channel
  std::string path;    // of HTTP, with the query
  enum class security : std::uint8_t { plaintext, tls, as_credentials } secured = security::plaintext;
};
// Returns INVALID_ARGUMENT for what is neither an http nor an https URL, nor a target of gRPC.
[[nodiscard]] result<endpoint_parts> parse_endpoint(std::string_view endpoint, otlp_protocol p);

// Lives on one loop. One request at a time.
//
// HTTP/protobuf is a unary call of the Connect protocol over HTTP/1.1: both are a POST of the message without
// an envelope. Only the media type differs, and that the collector's errors are HTTP statuses, which an
// observer of the channel sees.
class collector_channel {
 public:
  collector_channel(runtime& on, signal s, const otlp_destination& to, const endpoint_parts& at);
  // `request` is an encoded export request, and must outlive the await.
  [[nodiscard]] task<export_answer> send(const bytes_message& request);

 private:
  class response_head final : public http_observer {
   public:
    void response_headers(const http::header_list& fields, http_version) noexcept override;
    int status = 0;
    std::string retry_after;
  };

  const otlp_protocol protocol_;
  const std::string path_;
  std::shared_ptr<response_head> head_ = std::make_shared<response_head>();
  call_options options_;
  channel channel_;
};

}  // namespace coracle::telemetry_internal
