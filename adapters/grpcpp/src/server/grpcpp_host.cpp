#include "coracle/grpcpp.hpp"

#include "adapters/grpcpp/src/process/one_process.hpp"
#include "adapters/grpcpp/src/server/hosted_service.hpp"
#include "adapters/grpcpp/src/server/method_starters.hpp"

#include "coracle/base/usage_error.hpp"

#include <string>
#include <vector>

namespace coracle {

class grpcpp_host::state {
 public:
  state() { starters_.callbacks().run_on_threads(); }
  ~state() {
    starters_.stop();
    starters_.callbacks().stop();
  }

  service& adapt(const grpc::Service& of) {
    for (const auto& method : of.methods()) {
      if (!method || !is_of_queue(*method)) continue;
      throw usage_error(std::string(method->name()) +
                        " is answered by completion queues, which a coracle::server does not have: build its "
                        "server with grpc::ServerBuilder, which takes services of Coracle, too");
    }
    return *services_.emplace_back(std::make_unique<grpc::internal::hosted_service>(
        of, true, [this](grpc::internal::RpcServiceMethod& method) { return starters_.starter_of(method); }));
  }

 private:
  using api = grpc::internal::RpcServiceMethod::ApiType;
  static bool is_of_queue(const grpc::internal::RpcServiceMethod& method) {
    return method.api_type() == api::ASYNC || method.api_type() == api::RAW;
  }

  grpc::internal::method_starters starters_{grpc::internal::handler_pool::default_limit(),
                                            std::make_shared<const grpc::internal::interceptor_factories>()};
  std::vector<std::unique_ptr<grpc::internal::hosted_service>> services_;
};

grpcpp_host::grpcpp_host() {
  grpc::internal::require_one_library();
  state_ = std::make_unique<state>();
}
grpcpp_host::~grpcpp_host() = default;

service& grpcpp_host::adapt(grpc::Service& of) { return state_->adapt(of); }

}  // namespace coracle
