// subchannel_instruments: what subchannels measure about their connections (gRFC A94, with the older names of
// A78).
#pragma once

#include "coracle/base/metrics.hpp"
#include "transport/connection.hpp"

#include <span>
#include <string_view>

namespace coracle::client {

// The instruments of subchannels.
[[nodiscard]] std::span<const instrument* const> subchannel_instruments() noexcept;

// Of the subchannels of one target, on the current loop.
class subchannel_measures {
 public:
  explicit subchannel_measures(std::string_view target) noexcept : target_(target) {}
  void attempt_succeeded() const noexcept;
  void attempt_failed() const noexcept;
  // An attempt with a secured byte stream has ended; nothing if its handshake has not.
  void handshake_ended(const transport::connection& c) const noexcept;
  // A connection is established.
  void opened(const transport::connection& c) const noexcept;
  // An established connection has ended.
  void closed(const transport::connection& c, bool secure) const noexcept;

 private:
  std::string_view target_;
};

}  // namespace coracle::client
