// converted_credit: the credit of a body that the layer above gets in another form.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>

namespace coracle::transport {

// `received` bytes of the peer became `passed` bytes for the layer above. What that consumes returns its
// share of the bytes that were received, and the rest of them with the last one.
class converted_credit {
 public:
  // Returns how many bytes to consume at once: nothing of them is with the layer above.
  [[nodiscard]] std::size_t owe(std::size_t received, std::size_t passed) noexcept {
    received_ += received;
    passed_ += passed;
    return passed_ == 0 ? std::exchange(received_, 0) : 0;
  }
  // Returns how many bytes to consume for `consumed` bytes of the layer above.
  [[nodiscard]] std::size_t give_back(std::size_t consumed) noexcept {
    if (passed_ == 0) return 0;
    const std::size_t n = std::min(consumed, passed_);
    const auto share = static_cast<std::size_t>(static_cast<double>(received_) * static_cast<double>(n) /
                                                static_cast<double>(passed_));
    const std::size_t returned = n == passed_ ? received_ : std::min(share, received_);
    passed_ -= n;
    received_ -= returned;
    return returned;
  }

 private:
  std::size_t received_ = 0;  // and not returned
  std::size_t passed_ = 0;  // and not consumed
};

}  // namespace coracle::transport
