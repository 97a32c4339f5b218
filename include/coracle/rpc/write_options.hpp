// write_options: the options of one message that is written to a stream.
#pragma once

#include "coracle/base/impl/requirements.hpp"

#include <type_traits>

namespace coracle {

/// The options of one write: `writer.write(message, {.compress = false})`.
struct write_options {
  /// Whether the message may be compressed, in a call that compresses messages. Set it to false for data that
  /// is already compressed, and for secrets next to text that the peer may choose (CRIME, BREACH).
  bool compress = true;
};
static_assert(std::is_trivially_destructible_v<write_options>,
              "GCC 12 destroys aggregates in co_await expressions twice");

/// Returns options that send the message uncompressed.
[[nodiscard]] constexpr write_options uncompressed() noexcept { return {.compress = false}; }

}  // namespace coracle
