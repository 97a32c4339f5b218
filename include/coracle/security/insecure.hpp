// insecure(): plaintext, said aloud.
#pragma once

namespace coracle {

// Neither secret nor safe from change on the way: for loopback, UNIX sockets and networks that are
// protected otherwise. There is no default, so that nobody is plaintext by accident.
class plaintext {
 private:
  constexpr plaintext() noexcept = default;
  friend constexpr plaintext insecure() noexcept;
};

[[nodiscard]] constexpr plaintext insecure() noexcept { return {}; }

}  // namespace coracle
