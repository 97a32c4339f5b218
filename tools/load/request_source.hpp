// request_source: the requests of a method: its path, its kind, and the bytes of each message.
#pragma once

#include <coracle/rpc/bytes_message.hpp>
#include <coracle/server/impl/method.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace coracle::tools::load {

// Identifies a message. All numbers count from 0.
struct request_place {
  std::uint64_t user = 0;  // the virtual user, or the worker of a closed loop; 0 in an open loop
  std::uint64_t call = 0;  // in the whole run, warm-up included; unique
  std::uint32_t message = 0;  // in the call
};

// Used by every loop of a run concurrently. A message depends only on its place, so that a run is
// reproducible.
class request_source {
 public:
  virtual ~request_source() = default;
  // "/package.Service/Method"; the same string each time.
  [[nodiscard]] virtual const std::string& path() const noexcept = 0;
  [[nodiscard]] virtual call_kind kind() const noexcept = 0;
  // The number of messages that the call sends: 1, unless the client's side is a stream.
  [[nodiscard]] virtual std::uint32_t messages(const request_place& of) const = 0;
  // Returns one message: either an object that lives as long as the source, or `scratch`, filled.
  [[nodiscard]] virtual const bytes_message& message(const request_place& at,
                                                     bytes_message& scratch) const = 0;
  // The same message as JSON; empty if only its bytes are known.
  [[nodiscard]] virtual std::optional<std::string> json(const request_place& at) const {
    static_cast<void>(at);
    return std::nullopt;
  }
};

}  // namespace coracle::tools::load
