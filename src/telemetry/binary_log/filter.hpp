// filter: which calls a binary log has, and how much of each (gRFC A16).
#pragma once

#include "coracle/base/result.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace coracle::telemetry_internal {

// How many bytes of the metadata of each header or trailer, and of each message, are kept.
struct log_limits {
  static constexpr std::uint64_t all = ~std::uint64_t{0};
  std::uint64_t header_bytes = all;
  std::uint64_t message_bytes = all;
  friend bool operator==(const log_limits&, const log_limits&) = default;
};

// Parsed from a text such as "*,Service/*{h},Service/Method{h:256;m:1024},-Service/Other".
class binary_log_filter {
 public:
  // Fails with INVALID_ARGUMENT; the message has the position of the rule that is malformed.
  static result<binary_log_filter> parse(std::string_view text);

  // path: "/Service/Method". The most exact rule applies; none: the call is not logged.
  [[nodiscard]] std::optional<log_limits> find(std::string_view path) const;
  [[nodiscard]] bool logs_nothing() const noexcept {
    return !everything_ && services_.empty() && methods_.empty();
  }

 private:
  status add(std::string_view rule);
  status exclude(std::string_view method);

  std::optional<log_limits> everything_;
  // By name, without a slash at the front.
  std::map<std::string, log_limits, std::less<>> services_;
  std::map<std::string, log_limits, std::less<>> methods_;
  std::set<std::string, std::less<>> excluded_;
};

}  // namespace coracle::telemetry_internal
