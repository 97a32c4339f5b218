#include "coracle/server/server_faults.hpp"

#include "rpc/injected_faults.hpp"

namespace coracle {

namespace {

class server_fault_injector final : public server_interceptor {
 public:
  explicit server_fault_injector(const fault_options& options) : faults_(options) {}
  task<status> intercept(server_context& context, next_handler next) override {
    return faults_.run(context.method(), context.metadata(), next);
  }

 private:
  rpc::injected_faults faults_;
};

}  // namespace

std::shared_ptr<server_interceptor> server_faults(const fault_options& options) {
  return std::make_shared<server_fault_injector>(options);
}

}  // namespace coracle
