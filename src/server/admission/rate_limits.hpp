// rate_limits: the rate limits of a server.
#pragma once

#include "coracle/base/clock.hpp"
#include "coracle/net/address.hpp"
#include "coracle/rpc/metadata.hpp"
#include "coracle/security/auth_context.hpp"
#include "coracle/server/rate_limit.hpp"
#include "server/admission/rejection.hpp"
#include "server/admission/token_buckets.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::server_internal {

// Shared by the loops of a server, so that a limit holds for all of them together.
class rate_limits {
 public:
  // Throws usage_error if one of them is invalid.
  static void require_valid(std::span<const rate_limit> all);
  // `paths`: of the methods, by their indexes. Calls of further methods have the index behind the last one.
  // before: what these replace, or null. Limits that have not changed keep their buckets.
  rate_limits(std::span<const rate_limit> all, std::span<const std::string_view> paths,
              const rate_limits* before = nullptr);
  // See client_key(). Only the first one counts, so that all loops have the same. Any loop, before take().
  void seed(std::uint64_t random) noexcept;

  struct refusal {
    const rejection* why = nullptr;  // null: the call has taken a token of each limit that applies to it
    duration wait{};  // until all limits that apply have a token
    bool is_shared = false;  // several callers may wait for it
    // The same as a pushback of gRFC A6. Callers that share a limit are told different times, so that they do
    // not come back together.
    [[nodiscard]] int wait_ms(std::uint64_t random) const noexcept;
  };
  struct caller_of_call {
    const net::address& peer;
    const auth_context* auth;  // may be null
    const metadata& received;
  };
  // Any loop. A call that a limit refuses takes nothing of the others.
  [[nodiscard]] refusal take(std::uint32_t method, const caller_of_call& by, time_point now) noexcept;
  // The paths of rate_limit::methods that name no method.
  [[nodiscard]] const std::vector<std::string>& unknown() const noexcept { return unknown_; }

 private:
  struct limit {
    explicit limit(const rate_limit& l);
    const rate_limit of;
    rejection why;
    std::optional<shared_token_bucket> shared;  // for caller::all
    std::unique_ptr<token_buckets> buckets;  // for the others
  };

  template <class Shared, class Each>
  [[nodiscard]] duration ask(limit& l, const caller_of_call& by, Shared shared, Each each) const noexcept;

  std::vector<std::shared_ptr<limit>> limits_;
  std::vector<std::vector<limit*>> by_method_;
  std::vector<std::string> unknown_;
  std::atomic<std::uint64_t> seed_{0};  // 0: none yet
};

}  // namespace coracle::server_internal
