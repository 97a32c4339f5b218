// calls_in_progress: the calls of a server that have not ended, for the pages of operators.
#pragma once

#include "coracle/base/impl/intrusive_list.hpp"
#include "coracle/base/status.hpp"
#include "coracle/runtime/runtime.hpp"
#include "coracle/server/server_observer.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace coracle::telemetry_internal {

// One call, as a page shows it.
struct call_row {
  std::uint64_t id = 0;  // unique on its loop
  std::string method;
  std::string peer;
  std::size_t loop = 0;
  duration age{};
  std::optional<duration> left;  // until its deadline; none if it has none
  std::uint64_t messages_received = 0;
  std::uint64_t messages_sent = 0;
  bool cancelled = false;
};

// What one loop, or all of them, has in progress.
struct calls_listing {
  std::vector<call_row> oldest;  // the oldest calls, up to the maximum
  std::size_t all = 0;
  std::map<std::string, std::size_t, std::less<>> by_method;
};

// Keeps an entry for each call, on the loop of the call.
class calls_in_progress final : public server_observer {
 public:
  // The maximum number of calls that a page lists of each loop; the rest is counted.
  static constexpr std::size_t listed_max = 500;
  // Clients choose the names of unregistered methods: longer ones are cut.
  static constexpr std::size_t method_bytes_max = 200;
  // The number of methods that calls are counted by; the others are counted as "other".
  static constexpr std::size_t methods_max = 1000;

  explicit calls_in_progress(const runtime& on) : loops_(on.size()) {}

  // Adds the calls of the loop `here`. On that loop.
  void add_to(calls_listing& to, const loop& here) const;
  // Ends a call of the loop `here` with CANCELLED; returns false if it has ended. On that loop.
  bool cancel(const loop& here, std::uint64_t id) const noexcept;

 private:
  [[nodiscard]] server_observer& on_loop(const loop& where, std::uint32_t) override {
    return loops_[where.index()];
  }

  class of_loop final : public server_observer {
   public:
    [[nodiscard]] bool wants_progress() const noexcept override { return false; }
    void call_started(served_call& c) noexcept override;
    void call_ended(served_call& c, const status& outcome, time_point now) noexcept override;

   private:
    friend class calls_in_progress;
    struct entry : base::list_hook {
      served_call* call = nullptr;
      std::uint64_t id = 0;
    };
    std::uint64_t started_ = 0;
    std::deque<entry> entries_;  // as many as there ever were calls at the same time
    base::intrusive_list<entry> free_;
    base::intrusive_list<entry> running_;  // oldest first
  };
  std::deque<of_loop> loops_;
};

}  // namespace coracle::telemetry_internal
