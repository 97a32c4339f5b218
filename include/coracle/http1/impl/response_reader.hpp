// response_reader: an incremental reader of an HTTP/1.1 response (RFC 9112).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace coracle::http1 {

// Reads one response from bytes that the caller feeds, without I/O. Keeps only the length of the body.
class response_reader {
 public:
  // Do not call it after complete() or broken().
  void feed(std::string_view bytes);
  // The server has closed the connection: that completes a body without a length, and is an error otherwise.
  void end_of_stream();

  [[nodiscard]] bool begun() const noexcept { return begun_; }
  [[nodiscard]] bool complete() const noexcept { return state_ == state::complete; }
  // Why the response is malformed; empty if it is not.
  [[nodiscard]] const std::string& broken() const noexcept { return broken_; }

  // Valid once complete() is true.
  [[nodiscard]] int code() const noexcept { return code_; }
  [[nodiscard]] const std::string& reason() const noexcept { return reason_; }
  [[nodiscard]] std::uint64_t body_bytes() const noexcept { return body_bytes_; }
  // Whether the connection can be used for another request.
  [[nodiscard]] bool keeps_alive() const noexcept { return keeps_alive_; }

 private:
  enum class state : std::uint8_t {
    head,
    counted_body,
    chunk_size,
    chunk,
    trailers,
    body_until_end,
    complete
  };
  static constexpr std::size_t head_bytes_max = std::size_t{64} * 1024;
  static constexpr int interim_responses_max = 16;

  [[nodiscard]] bool step();
  [[nodiscard]] bool read_head();
  void read_field(std::string_view line);
  void body_follows();
  [[nodiscard]] bool skip_body();
  [[nodiscard]] bool read_chunk_size();
  [[nodiscard]] bool skip_trailers();
  [[nodiscard]] bool fail(const char* reason);

  std::string held_;
  std::string reason_;
  std::string broken_;
  std::uint64_t body_bytes_ = 0;
  std::uint64_t left_ = 0;  // of the counted body, or of the chunk with its line end
  int code_ = 0;
  int interim_responses_ = 0;
  state state_ = state::head;
  bool begun_ = false;
  bool keeps_alive_ = false;
  bool has_length_ = false;
  bool chunked_ = false;
};

}  // namespace coracle::http1
