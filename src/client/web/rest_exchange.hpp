// rest_exchange: an attempt as a plain HTTP request with JSON, by a rule of google.api.http.
#pragma once

#include "base/output_buffer.hpp"
#include "client/web/rest_table.hpp"
#include "client/web/web_exchange.hpp"
#include "coracle/coro/executor.hpp"
#include "protocol/rest/json_stream.hpp"
#include "transport/converted_credit.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace coracle::client {

// The request headers are sent with the first message, which has their path. The messages of a call whose
// codec is JSON are passed as they are where the rule puts all of a message into the body.
//
// A request that no rule of the method can express ends the call. The attempt is told in the next turn of the
// loop, since it is writing when that is found out.
class rest_exchange final : public web_exchange {
 public:
  rest_exchange(transport::exchange inner, const call_terms& terms, const rest_table* methods);

  std::uint8_t* reserve_data(std::size_t n) override { return request_.reserve(n); }
  void commit_data(std::size_t n, bool end_stream) noexcept override;
  bool queue_data(std::unique_ptr<std::uint8_t[]> bytes, std::size_t n, bool end_stream) override;
  [[nodiscard]] std::size_t queued() const noexcept override { return sent_ ? inner_.queued() : 0; }
  void want_writable(std::size_t low_bytes) noexcept override;
  void consume(std::size_t n) noexcept override;

 private:
  struct failing final : coro::runnable {
    explicit failing(rest_exchange& x) noexcept : owner(x) {}
    rest_exchange& owner;
    bool posted = false;
  };

  void write_block() override;
  void read_head(const response_head& head, const http::header_list& fields) override;
  void receive(bytes_view bytes) override;
  void end_body() override;
  void destroy() noexcept override;

  // Sends the complete messages of request_.
  void send_messages(bool end_stream);
  [[nodiscard]] result<rest::client_request> converted(std::string_view message) const;
  void send_headers(const rest::client_request& r);
  [[nodiscard]] std::string target_with_query(const std::string& target) const;
  void fail_later(status reason);
  // Passes the messages of a stream on that are complete.
  void pass_values(bytes_view bytes, bool end);
  void end_with_error();
  [[nodiscard]] result<std::string> converted_reply(std::string_view body) const;

  const rest_method* const method_;  // null: the channel has no rule for it
  const std::string_view query_;  // of the channel, in every request
  const std::string path_;
  const bool json_;  // the codec of the call
  const std::uint32_t max_receive_bytes_;
  base::output_buffer request_;  // written by the attempt, and not sent
  protocol::rest::json_stream body_;
  transport::converted_credit credit_;
  std::string content_type_;  // of the response
  std::string maybe_error_;  // the last value of a stream, if it may be the error that ends it
  http::header_list of_error_;  // the metadata of a response whose body is an error
  int error_status_ = 0;  // the HTTP status of a response whose body is an error
  bool sent_ = false;
  std::optional<status> failure_;
  failing failing_{*this};
};

}  // namespace coracle::client
