// admission_gate: admission_control on a loop, with its clock and its timer.
#pragma once

#include "coracle/runtime/loop.hpp"
#include "server/admission/admission_control.hpp"
#include "server/admission/client_key.hpp"
#include "server/admission/rejection.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

namespace coracle::server_internal {

// Belongs to the shard of its loop. Its calls must have ended before it is destroyed.
class admission_gate final : private coro::timer {
 public:
  using verdict = admission_control::verdict;
  using entry = admission_control::entry;

  admission_gate(loop& on, const admission_options& o, std::size_t methods);
  admission_gate(const admission_gate&) = delete;
  admission_gate& operator=(const admission_gate&) = delete;
  ~admission_gate();

  // See admission_control.
  [[nodiscard]] verdict check(std::uint32_t method, criticality level, std::uint64_t client,
                              time_point deadline) noexcept {
    return control_.check(method, level, client, deadline, loop_.now());
  }
  // The client as check() and limited_call need it: 0 while they do not.
  [[nodiscard]] std::uint64_t client_of(const net::address& peer, const auth_context* auth) const noexcept {
    return control_.is_free() ? 0 : client_key(peer, auth, seed_);
  }
  [[nodiscard]] entry enter(limited_call& c) noexcept;
  void ended(const limited_call& c, bool ok) noexcept;
  void released() noexcept;
  void gave_up(limited_call& c) noexcept { control_.gave_up(c); }
  void set_bounds(const admission_options& o) noexcept;

  // A call was rejected, which is counted. Returns when its client may retry if that was because of overload,
  // in milliseconds as in gRFC A6: negative for calls that should not be retried.
  [[nodiscard]] std::optional<int> count_rejection(criticality level, const rejection& r,
                                                   const net::address& peer) noexcept;

  [[nodiscard]] std::uint64_t rejected() const noexcept { return log_.counted(); }
  // Of them, because of their deadlines.
  [[nodiscard]] std::uint64_t rejected_late() const noexcept { return rejected_late_; }
  [[nodiscard]] const admission_control& control() const noexcept { return control_; }

 private:
  // A runnable that outlives the gate if it is destroyed meanwhile.
  struct posted_advance;
  void advance() noexcept;
  void schedule() noexcept;

  loop& loop_;
  const std::uint64_t seed_;
  admission_control control_;
  posted_advance* const posted_;
  rejection_log log_;
  std::uint64_t rejected_late_ = 0;
};

}  // namespace coracle::server_internal
