// injected_faults: the faults of one fault_options, for the calls of all loops.
#pragma once

#include "coracle/coro/sleep.hpp"
#include "coracle/coro/task.hpp"
#include "coracle/rpc/fault_options.hpp"
#include "coracle/rpc/metadata.hpp"
#include "rpc/fault_rules.hpp"
#include "rpc/method_list.hpp"

#include <atomic>
#include <cstdint>
#include <optional>
#include <string_view>

namespace coracle::rpc {

// On any loop.
class injected_faults {
 public:
  // Throws usage_error.
  explicit injected_faults(const fault_options& options);
  injected_faults(const injected_faults&) = delete;
  injected_faults& operator=(const injected_faults&) = delete;

  // Runs the rest of an interceptor chain, unless the call ends by a fault. What is passed must last as long.
  template <class Next>
  task<status> run(std::string_view method, const metadata& sent, Next next) {
    fault of_call(*this, method, sent);
    if (of_call.delay() > duration::zero()) co_await sleep_for(of_call.delay());
    of_call.end_delay();
    if (of_call.abort()) co_return *of_call.abort();
    co_return co_await next();
  }

 private:
  // The faults of one call. While it exists, a delayed call counts as active.
  class fault {
   public:
    fault(injected_faults& of, std::string_view method, const metadata& sent);
    fault(const fault&) = delete;
    fault& operator=(const fault&) = delete;
    ~fault() { end_delay(); }
    // Zero: none.
    [[nodiscard]] duration delay() const noexcept { return delay_; }
    // The delay has passed.
    void end_delay() noexcept;
    [[nodiscard]] const std::optional<status>& abort() const noexcept { return abort_; }

   private:
    injected_faults& of_;
    duration delay_{};
    std::optional<status> abort_;
    bool counts_ = false;
  };

  fault_rules rules_;
  method_list methods_;
  std::uint32_t active_max_;
  std::atomic<std::uint32_t> active_{0};
};

}  // namespace coracle::rpc
