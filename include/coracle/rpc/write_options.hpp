// write_options: what a writer of a stream says about one message.
#pragma once

#include <type_traits>

namespace coracle {

// A value: writer.write(message, coracle::uncompressed()).
class write_options {
 public:
  write_options() noexcept {}
  // False: this message is sent as it is, in a call whose messages are compressed otherwise; for what is
  // compressed already, and for secrets beside text that a peer may choose (CRIME, BREACH). Default true.
  write_options& compress(bool on) noexcept { return compress_ = on, *this; }
  [[nodiscard]] bool compress() const noexcept { return compress_; }

 private:
  bool compress_ = true;
};
static_assert(!std::is_aggregate_v<write_options>,
              "GCC 12 destroys aggregates in co_await expressions twice");

[[nodiscard]] inline write_options uncompressed() noexcept {
  write_options o;
  o.compress(false);
  return o;
}

}  // namespace coracle
