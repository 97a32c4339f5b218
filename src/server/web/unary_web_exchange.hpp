// unary_web_exchange: a request of the Connect protocol with one message and one reply, which are the bodies
// of an HTTP request and its response.
#pragma once

#include "base/output_buffer.hpp"
#include "coracle/base/clock.hpp"
#include "coracle/coro/executor.hpp"
#include "server/web/web_exchange.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::server_internal {

// The buffers of bodies, which later calls of the loop reuse.
class body_buffers final : public coro::executor_local {
 public:
  static body_buffers& here() { return coro::this_executor().local<body_buffers>(); }
  [[nodiscard]] base::output_buffer take() noexcept;
  void give_back(base::output_buffer b) noexcept;

 private:
  std::vector<base::output_buffer> spare_;
};

// Collects the request before the call gets it, since the length of a body may be unknown until its end, and
// the reply until the status is known, which an HTTP response begins with.
class unary_web_exchange : public web_exchange, public whole_request {
 public:
  struct options {
    std::string_view codec;           // "proto", "json", ...
    bool compressed = false;          // the request has a content-encoding
    bool get = false;                 // a GET request: responses vary by their headers
    bool headers_only = false;        // a HEAD request: responses have no body
    std::uint32_t max_receive_bytes = 0;
    duration stall_time = duration::max();
    std::size_t stall_bytes = 1;
  };
  unary_web_exchange(transport::exchange inner, const options& o);
  ~unary_web_exchange() override;

  void deliver(bytes_view body) override { receive(body, true); }

  // transport::exchange_target
  std::uint8_t* reserve_data(std::size_t n) override { return reply_.reserve(n); }
  void commit_data(std::size_t n, bool) noexcept override { reply_.commit(n); }
  bool queue_data(std::unique_ptr<std::uint8_t[]> bytes, std::size_t n, bool end_stream) override;
  std::uint8_t* reserve_reply(std::size_t n) override;
  void commit_reply(std::size_t n) noexcept override;
  [[nodiscard]] std::size_t queued() const noexcept override { return 0; }
  void want_writable(std::size_t) noexcept override {}
  void consume(std::size_t) noexcept override {}  // the credit of a body is returned when it is collected
  void set_kept(std::size_t bytes) noexcept override;

 protected:
  // The content-type of the reply, which has been written.
  [[nodiscard]] virtual std::string_view reply_content_type() const noexcept { return content_type_; }
  // Writes the response of a call that failed.
  virtual void write_failure(written_status s);
  // Whether the metadata `name` becomes a response header.
  [[nodiscard]] virtual bool sends_metadata(std::string_view /*name*/) const noexcept { return true; }
  // Before the names of trailing metadata in the response headers.
  [[nodiscard]] virtual std::string_view trailer_prefix() const noexcept;
  // `body` of a reply (200) begins with its prefix.
  void write_response(int http_status, std::string_view content_type, bytes_view body);

 private:
  void receive(bytes_view bytes, bool end_stream) override;
  void send_response_headers() override { initial_ = block_; }
  void send_response_end() override;

  const std::string content_type_;
  const std::uint32_t max_receive_bytes_;
  body_watch watch_;
  base::output_buffer request_;
  base::output_buffer reply_;
  http::header_list initial_;
  std::size_t kept_bytes_ = 0;  // by the call
  // What the prefix of the message overwrites between reserve_reply() and commit_reply().
  std::uint8_t* overwritten_at_ = nullptr;
  std::uint8_t overwritten_[5] = {};
  const bool compressed_;
  const bool get_;
  const bool headers_only_;
  bool delivered_ = false;
};

}  // namespace coracle::server_internal
