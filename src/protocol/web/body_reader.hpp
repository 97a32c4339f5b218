// body_reader: finds the last frame of a response body, which carries the status in gRPC-Web (its trailers)
// and in a Connect stream (its end-stream message), among the enveloped messages before it.
#pragma once

#include "coracle/base/bytes.hpp"
#include "protocol/envelope.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace coracle::protocol::web {

// Messages are passed on as they arrive, unchanged and in pieces of any size, to the deframer that gRPC uses,
// which also checks their flags and their size. Only the last frame is buffered.
//
//   bytes_view rest = received;
//   while (true) {
//     switch (reader.next(rest)) {
//       case messages: deframer.append(reader.messages()); break;
//       case last: read(reader.last(), reader.last_compressed()); break;
//       case need_more: return;
//       ...
//   }
//   at the end of the body: reader.complete(), or the response was cut
class body_reader {
 public:
  enum class state : std::uint8_t {
    need_more,  // `rest` is empty
    messages,  // messages() are bytes of envelopes
    last,  // the last frame is complete
    bytes_after_last,  // the body continues after the last frame; nothing more can be read
    last_too_large,  // the last frame's length exceeds the limit; nothing more can be read
    bad_last_flag,  // the last frame has a flag that the protocol does not define
  };

  // `last_flag` marks the last frame. A last frame of more than `last_bytes_max` bytes is an error.
  body_reader(std::uint8_t last_flag, std::uint32_t last_bytes_max) noexcept
      : last_bytes_max_(last_bytes_max), last_flag_(last_flag) {}

  // Removes bytes from the front of `rest` and returns what they were. An error is returned again by every
  // further call, while `rest` is not empty.
  state next(bytes_view& rest);

  // After state::messages; borrowed from `rest`.
  [[nodiscard]] bytes_view messages() const noexcept { return messages_; }
  // After state::last: the content of the last frame, borrowed from the reader.
  [[nodiscard]] std::string_view last() const noexcept { return last_; }
  [[nodiscard]] bool last_compressed() const noexcept { return (flags_ & compressed_flag) != 0; }

  // Whether the last frame has been read completely.
  [[nodiscard]] bool complete() const noexcept { return phase_ == phase::done; }
  // Whether no byte has arrived: the response may consist of its headers alone.
  [[nodiscard]] bool empty() const noexcept { return phase_ == phase::prefix && filled_ == 0 && !began_; }
  // Whether the bytes read so far end in the middle of a frame.
  [[nodiscard]] bool inside_frame() const noexcept {
    return (phase_ == phase::prefix && filled_ != 0) || phase_ == phase::message || phase_ == phase::last;
  }

 private:
  static constexpr std::uint8_t compressed_flag = 0x01;
  enum class phase : std::uint8_t { prefix, message, last, done, failed };
  state fail(state error) noexcept;
  state read_last(bytes_view& rest);
  state read_messages(bytes_view& rest) noexcept;

  std::string last_;
  bytes_view messages_;
  std::uint32_t left_ = 0;  // bytes of the current frame that have not been read
  std::uint32_t last_bytes_max_;
  std::uint8_t prefix_[envelope_prefix_bytes] = {};
  std::uint8_t filled_ = 0;  // bytes of prefix_
  std::uint8_t last_flag_;
  std::uint8_t flags_ = 0;
  phase phase_ = phase::prefix;
  state error_ = state::need_more;
  bool began_ = false;
};

}  // namespace coracle::protocol::web
