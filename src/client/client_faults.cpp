#include "coracle/client/client_faults.hpp"

#include "coracle/coro/sleep.hpp"
#include "coracle/runtime/loop.hpp"
#include "rpc/injected_faults.hpp"
#include "runtime/backend.hpp"

#include <cstdint>

namespace coracle {

namespace {

class client_fault_injector final : public client_interceptor {
 public:
  explicit client_fault_injector(const fault_options& options) : faults_(options) {}

  task<status> intercept(client_context& call, next_call next) override {
    const auto draw = [](std::uint64_t below) { return loop::current()->io().random() % below; };
    rpc::injected_faults::fault fault(faults_, call.method(), call.options().metadata, draw);
    if (fault.delay() > duration::zero()) co_await sleep_for(fault.delay());
    fault.end_delay();
    if (fault.abort()) co_return *fault.abort();
    co_return co_await next();
  }

 private:
  rpc::injected_faults faults_;
};

}  // namespace

std::shared_ptr<client_interceptor> client_faults(const fault_options& options) {
  return std::make_shared<client_fault_injector>(options);
}

}  // namespace coracle
