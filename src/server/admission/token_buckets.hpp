// token_bucket_rule, token_buckets: how many calls a second each of many callers may make.
#pragma once

#include "coracle/base/clock.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

namespace coracle::server_internal {

// A token bucket of which only one number is kept: the time at which it is full again. (ATM's generic cell
// rate algorithm.) Times are nanoseconds of the loops' clock.
class token_bucket_rule {
 public:
  token_bucket_rule(double per_second, double burst) noexcept;

  // How long until there is a token, for a bucket that is full at this time; not above 0: there is one.
  [[nodiscard]] std::int64_t wait_ns(std::int64_t full_at, std::int64_t now) const noexcept {
    return full_at - depth_ns_ - now;
  }
  // When the bucket is full after a token was taken.
  [[nodiscard]] std::int64_t after_take(std::int64_t full_at, std::int64_t now) const noexcept {
    return (full_at > now ? full_at : now) + interval_ns_;
  }

 private:
  std::int64_t interval_ns_;  // from one token to the next
  std::int64_t depth_ns_;  // that make all tokens but one
};

// One bucket that the loops share, without a lock.
class shared_token_bucket {
 public:
  explicit shared_token_bucket(const token_bucket_rule& r) noexcept : rule_(r) {}
  // How long until there is a token; 0: there is one.
  [[nodiscard]] duration wait(time_point now) const noexcept;
  // Takes a token: 0. Without one: how long until there is one.
  [[nodiscard]] duration take(time_point now) noexcept;

 private:
  const token_bucket_rule rule_;
  std::atomic<std::int64_t> full_at_ = 0;
};

// One bucket for each key, in a table of fixed size that the loops share.
//
// A key that is not in the table takes the place of the bucket that is full for the longest time, or will be
// full first, and goes on with what that has: a full bucket loses nothing thereby. Since no bucket of the set
// was fuller, and since they lose tokens only, a key that comes back never finds more than it would have: a
// key never gets more than its rate and burst, however many keys there are.
class token_buckets {
 public:
  // Hosts that call within the time in which a bucket becomes full. 256 KiB.
  static constexpr std::size_t buckets_max = 16'384;

  explicit token_buckets(const token_bucket_rule& r);
  // As those of shared_token_bucket.
  [[nodiscard]] duration wait(std::uint64_t key, time_point now) noexcept;
  [[nodiscard]] duration take(std::uint64_t key, time_point now) noexcept;

 private:
  struct bucket {
    std::uint64_t key = 0;
    std::int64_t full_at = 0;
  };
  static constexpr std::size_t set_size = 8;
  static constexpr std::size_t sets = buckets_max / set_size;
  // With the lock of its set.
  [[nodiscard]] bucket& bucket_for(std::uint64_t key) noexcept;
  [[nodiscard]] std::mutex& lock_of(std::uint64_t key) noexcept {
    return of_sets_[key % sets % of_sets_.size()];
  }

  const token_bucket_rule rule_;
  std::vector<bucket> buckets_;
  std::array<std::mutex, 64> of_sets_;  // held for some instructions
};

}  // namespace coracle::server_internal
