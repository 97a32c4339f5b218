// response_reader: an incremental reader of an HTTP/1.1 response (RFC 9112).
#pragma once

#include "coracle/base/impl/requirements.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace coracle::http1 {

class connection;

// Reads one response to a POST from bytes that the caller feeds, without I/O: http1::connection for programs
// that are built on installed headers. Keeps only the length of the body.
class response_reader {
 public:
  response_reader();
  response_reader(response_reader&&) noexcept;
  response_reader& operator=(response_reader&&) noexcept;
  ~response_reader();

  // Do not call it after complete() or broken().
  void feed(std::string_view bytes);
  // The server has closed the connection: that completes a body without a length, and is an error otherwise.
  void end_of_stream();

  [[nodiscard]] bool begun() const noexcept;
  [[nodiscard]] bool complete() const noexcept { return complete_; }
  // Why the response is malformed; empty if it is not.
  [[nodiscard]] const std::string& broken() const noexcept { return broken_; }

  // Valid once complete() is true.
  [[nodiscard]] int code() const noexcept { return code_; }
  [[nodiscard]] const std::string& reason() const noexcept { return reason_; }
  [[nodiscard]] std::uint64_t body_bytes() const noexcept { return body_bytes_; }
  // Whether the connection can be used for another request.
  [[nodiscard]] bool keeps_alive() const noexcept;

 private:
  void read_events();

  std::unique_ptr<connection> engine_;
  std::string reason_;
  std::string broken_;
  std::uint64_t body_bytes_ = 0;
  int code_ = 0;
  bool complete_ = false;
};

}  // namespace coracle::http1
