// subchannel_instruments: what subchannels measure about their connections (gRFC A94, with the older names of
// A78).
#pragma once

#include "coracle/base/metrics.hpp"
#include "coracle/client/server_labels.hpp"
#include "transport/connection.hpp"

#include <span>
#include <string_view>

namespace coracle::client {

// The instruments of subchannels.
[[nodiscard]] std::span<const instrument* const> subchannel_instruments() noexcept;

// Of a subchannel of the target, on the current loop. Borrows both.
class subchannel_measures {
 public:
  // labels: of a server that a control plane has named; null: none has.
  subchannel_measures(std::string_view target, const server_labels* labels) noexcept
      : target_(target), labels_(labels) {}
  void attempt_succeeded() const noexcept;
  void attempt_failed() const noexcept;
  // An attempt with a secured byte stream has ended; nothing if its handshake has not.
  void handshake_ended(const transport::connection& c) const noexcept;
  // A connection is established.
  void opened(const transport::connection& c) const noexcept;
  // An established connection has ended.
  void closed(const transport::connection& c, bool secure) const noexcept;

 private:
  [[nodiscard]] std::string_view service() const noexcept {
    return labels_ ? std::string_view(labels_->backend_service) : std::string_view();
  }
  [[nodiscard]] std::string_view locality() const noexcept {
    return labels_ ? std::string_view(labels_->locality) : std::string_view();
  }

  std::string_view target_;
  const server_labels* labels_;
};

}  // namespace coracle::client
