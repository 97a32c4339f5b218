// write_options: the options of one message that is written to a stream.
#pragma once

#include <type_traits>

namespace coracle {

/// The options of one write: `writer.write(message, coracle::uncompressed())`. A value type.
class write_options {
 public:
  write_options() noexcept {}
  /// Whether the message may be compressed, in a call that compresses messages. Pass false for data that is
  /// already compressed, and for secrets next to text that the peer may choose (CRIME, BREACH). Default true.
  write_options& compress(bool on) noexcept { return compress_ = on, *this; }
  [[nodiscard]] bool compress() const noexcept { return compress_; }

 private:
  bool compress_ = true;
};
static_assert(!std::is_aggregate_v<write_options>,
              "GCC 12 destroys aggregates in co_await expressions twice");

/// Returns options that send the message uncompressed.
[[nodiscard]] inline write_options uncompressed() noexcept {
  write_options o;
  o.compress(false);
  return o;
}

}  // namespace coracle
