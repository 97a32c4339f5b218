#include "coracle/client/client_faults.hpp"

#include "rpc/injected_faults.hpp"

namespace coracle {

namespace {

class client_fault_injector final : public client_interceptor {
 public:
  explicit client_fault_injector(const fault_options& options) : faults_(options) {}
  task<status> intercept(client_context& call, next_call next) override {
    return faults_.run(call.method(), call.options().metadata, next);
  }

 private:
  rpc::injected_faults faults_;
};

}  // namespace

std::shared_ptr<client_interceptor> client_faults(const fault_options& options) {
  return std::make_shared<client_fault_injector>(options);
}

}  // namespace coracle
