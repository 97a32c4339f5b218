// rest_exchange: a request of plain HTTP with JSON, as the exchange of a gRPC call.
#pragma once

#include "coracle/rpc/message_codec.hpp"
#include "protocol/rest/json_stream.hpp"
#include "protocol/rest/route_table.hpp"
#include "server/http/http_routes.hpp"
#include "server/web/unary_web_exchange.hpp"
#include "server/web/web_exchange.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::server_internal {

// The form of the messages of one call: its requests contain what the path and the query say, too. Belongs to
// the call.
class rest_codec final : public message_codec {
 public:
  // `target`: the path and the query of the request.
  rest_codec(const http_routes& routes, request_info::verb method, std::string target,
             std::string_view content_type);

  [[nodiscard]] std::string_view name() const noexcept override { return "json"; }
  status write(const google::protobuf::Message& message, std::string& to) const override;
  status read(google::protobuf::Message& message, bytes_view from) const override;
  status read_metered(google::protobuf::Message& message, bytes_view from,
                      decode_meter& meter) const override;

  [[nodiscard]] const http_routes::rest_route& route() const noexcept {
    return *routes_.rest_at(match_.index);
  }
  [[nodiscard]] const rest_options& options() const noexcept { return routes_.options(); }
  // Of the last reply that was written.
  [[nodiscard]] std::string_view reply_content_type() const noexcept { return content_type_of_reply_; }

 private:
  const http_routes& routes_;
  const std::string target_;
  const std::string content_type_;
  protocol::rest::route_match match_;  // borrows target_
  mutable std::string content_type_of_reply_ = "application/json";
};

// A call with one request and one reply.
class rest_unary_exchange final : public unary_web_exchange {
 public:
  rest_unary_exchange(transport::exchange inner, const unary_web_exchange::options& o,
                      const rest_codec& codec)
      : unary_web_exchange(inner, o), codec_(codec) {}
  std::uint8_t* reserve_reply(std::size_t) override { return nullptr; }

 private:
  [[nodiscard]] std::string_view reply_content_type() const noexcept override {
    return codec_.reply_content_type();
  }
  void write_failure(written_status s) override;
  [[nodiscard]] bool sends_metadata(std::string_view name) const noexcept override;
  [[nodiscard]] std::string_view trailer_prefix() const noexcept override { return {}; }

  const rest_codec& codec_;
};

// How a stream of replies is written. `raw` is for google.api.HttpBody.
enum class stream_form : std::uint8_t { json_lines, json_array, server_sent_events, raw };
// The form that the client prefers by its Accept field.
[[nodiscard]] stream_form stream_form_of(std::string_view accept) noexcept;
// For `raw`, that of a stream without messages, which have it otherwise.
[[nodiscard]] std::string_view content_type_of(stream_form form) noexcept;

// A call with many replies, many requests, or both. Requests are JSON lines, a JSON array, or for
// google.api.HttpBody pieces of the body.
//
// A stream that fails before its first reply has an HTTP status and a body as a call with one reply. After
// it, the last element is {"error": ...} (lines and array), or an event "end" with the status; the status of
// a stream that ends well is an event, too.
//
// Every event has an id: its number, or end_event_id. A browser that reconnects sends the last one that it
// has (HTML Standard 9.2.3), and only if there was one.
class rest_stream_exchange final : public web_exchange, public whole_request {
 public:
  static constexpr std::string_view end_event_id = "end";
  struct options {
    stream_form form = stream_form::json_lines;
    std::uint64_t last_event_number = 0;  // that the client has
    bool one_request = false;  // the body is one message
    bool compressed = false;  // it has a content-encoding
    bool one_reply = false;  // the response is one message
    std::uint32_t max_receive_bytes = 0;
    duration stall_time = duration::max();
    std::size_t stall_bytes = 1;
  };
  rest_stream_exchange(transport::exchange inner, const options& o, const rest_codec& codec)
      : web_exchange(inner),
        options_(o),
        codec_(codec),
        event_number_(o.last_event_number),
        watch_(*this, o.stall_time, o.stall_bytes) {}

  void deliver(bytes_view body) override { receive(body, true); }

  std::uint8_t* reserve_data(std::size_t n) override;
  void commit_data(std::size_t n, bool end_stream) noexcept override;
  bool queue_data(std::unique_ptr<std::uint8_t[]> bytes, std::size_t n, bool end_stream) override;
  void consume(std::size_t n) noexcept override { return_credit(n); }
  void set_kept(std::size_t bytes) noexcept override;

 private:
  void receive(bytes_view bytes, bool end_stream) override;
  void send_response_headers() override { initial_ = block_; }
  void send_response_end() override;
  // Writes the response headers before the first reply.
  void begin_body(std::string_view content_type);
  void write_message(std::string_view json);
  void write_text(std::string_view text, bool end_stream);
  // Passes complete messages of the body to the call, each with a prefix. Returns false if the body is
  // malformed.
  bool split_requests(std::string& envelopes, bool end_stream);

  const options options_;
  const rest_codec& codec_;
  std::uint64_t event_number_;
  body_watch watch_;
  http::header_list initial_;
  std::size_t kept_bytes_ = 0;  // by the call
  protocol::rest::json_stream body_;  // received, and not passed on yet
  std::string reserved_;  // of reserve_data()
  bool begun_ = false;  // the response headers were written
  bool ended_ = false;
};

}  // namespace coracle::server_internal
