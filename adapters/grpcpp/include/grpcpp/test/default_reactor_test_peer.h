// DefaultReactorTestPeer: the status with which a handler finished its default reactor.
#pragma once

#include <grpcpp/server_context.h>
#include <grpcpp/support/server_callback.h>

#include <functional>
#include <utility>

namespace grpc::testing {

/// For a test that calls a handler of the callback API with a context of its own. The object lasts as long as
/// the context.
class DefaultReactorTestPeer : private ServerCallbackUnary {
 public:
  explicit DefaultReactorTestPeer(CallbackServerContext* context)
      : DefaultReactorTestPeer(context, [](Status) {}) {}
  DefaultReactorTestPeer(CallbackServerContext* context, std::function<void(Status)> finished)
      : reactor_(context->DefaultReactor()), finished_(std::move(finished)) {
    BindReactor(reactor_);
  }
  ServerUnaryReactor* reactor() const { return reactor_; }
  bool test_status_set() const { return set_; }
  Status test_status() const { return status_; }

 private:
  void Finish(Status s) override {
    set_ = true;
    status_ = s;
    finished_(std::move(s));
  }
  void SendInitialMetadata() override {}
  ServerUnaryReactor* reactor_;
  std::function<void(Status)> finished_;
  bool set_ = false;
  Status status_;
};

}  // namespace grpc::testing
