// insecure(): selects plaintext explicitly.
#pragma once

#include "coracle/base/impl/requirements.hpp"

namespace coracle {

/// The type of insecure(). Plaintext provides neither confidentiality nor integrity: use it for loopback,
/// UNIX domain sockets and networks that are protected by other means. There are no default credentials, so
/// that no connection is plaintext by accident.
class plaintext {
 private:
  constexpr plaintext() noexcept = default;
  friend constexpr plaintext insecure() noexcept;
};

/// Selects plaintext for a channel or a listener.
[[nodiscard]] constexpr plaintext insecure() noexcept { return {}; }

}  // namespace coracle
