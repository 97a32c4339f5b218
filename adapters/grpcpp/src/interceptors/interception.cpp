#include <grpcpp/channel.h>
#include <grpcpp/impl/intercepted_calls.h>
#include <grpcpp/support/client_interceptor.h>

#include "adapters/grpcpp/src/client/channel_core.hpp"
#include "adapters/grpcpp/src/client/client_context_access.hpp"
#include "adapters/grpcpp/src/interceptors/interception.hpp"
#include "adapters/grpcpp/src/server/server_context_access.hpp"
#include "adapters/grpcpp/src/threads/queue_driver.hpp"

#include "coracle/coro/block_on.hpp"

#include <atomic>
#include <utility>

namespace grpc::internal {

namespace {

std::atomic<experimental::ClientInterceptorFactoryInterface*> of_all_channels{nullptr};

}  // namespace

// An Intercept() that has not returned goes on by itself.
void interceptor_batch::Proceed() {
  if (turn_.exchange(turn::let_go, std::memory_order_acq_rel) == turn::left) of_->go_on(*this);
}

void interceptor_batch::Hijack() {
  hijacks_ = true;
  Proceed();
}

ByteBuffer* interceptor_batch::GetSerializedSendMessage() {
  if (message_) {
    std::string bytes;
    if (serialize_(message_, bytes).ok()) serialized_ = ByteBuffer::own(std::move(bytes));
    message_ = nullptr;
  }
  return &serialized_;
}

Status interceptor_batch::take_bytes(std::string& to) {
  if (message_) return serialize_(message_, to);
  to = serialized_.bytes();
  return {};
}

bool call_interception::find_next(interceptor_batch& b) {
  if (b.backwards_) return b.index_-- > 0;
  if (b.index_ != interceptor_batch::before_first) {
    if (std::exchange(b.hijacks_, false)) hijacker_ = b.index_;
    if (hijacker_ == b.index_) {
      // The one that has taken the call over gives what is received.
      if (std::exchange(b.answers_, true)) return false;
      b.clear();
      if (b.receives_initial) b.add(hook::PRE_RECV_INITIAL_METADATA);
      if (b.receives_message) b.add(hook::PRE_RECV_MESSAGE);
      if (b.receives_status) b.add(hook::PRE_RECV_STATUS);
      return true;
    }
  }
  return ++b.index_ < interceptors_.size();
}

void call_interception::go_on(interceptor_batch& b) {
  using turn = interceptor_batch::turn;
  while (find_next(b)) {
    b.turn_.store(turn::entered, std::memory_order_relaxed);
    interceptors_[b.index_]->Intercept(&b);
    if (b.turn_.exchange(turn::left, std::memory_order_acq_rel) != turn::let_go) return;
  }
  give_metadata(b);
  if (!b.backwards_) {
    b.clear();
    b.sends_initial = false;
  }
  const std::function<void()> then = std::move(b.then_);
  then();
}

void call_interception::before(interceptor_batch& b, std::function<void()> then) {
  b.of_ = this;
  b.then_ = std::move(then);
  b.index_ = interceptor_batch::before_first;
  take_metadata(b);
  go_on(b);
}

void call_interception::after(interceptor_batch& b, std::function<void()> then) {
  b.of_ = this;
  b.then_ = std::move(then);
  b.backwards_ = true;
  b.index_ = hijacked() ? hijacker_ + 1 : interceptors_.size();
  take_metadata(b);
  go_on(b);
}

namespace {

void wait_for(coracle::coro::blocking_signal& done) {
  if (!done.is_set()) queue_driver::caller_leaves();
  done.wait();
}

}  // namespace

void call_interception::before(interceptor_batch& b) {
  coracle::coro::blocking_signal done;
  before(b, [&done] { done.set(); });
  wait_for(done);
}

void call_interception::after(interceptor_batch& b) {
  coracle::coro::blocking_signal done;
  after(b, [&done] { done.set(); });
  wait_for(done);
}

void call_interception::cancelled() {
  for (std::size_t i = 0; i < interceptors_.size(); ++i) {
    interceptor_batch b;
    b.of_ = this;
    b.index_ = i;
    b.add(hook::PRE_SEND_CANCEL);
    interceptors_[i]->Intercept(&b);
  }
}

// --- clients

// Calls made through it pass the interceptors from one position on.
class channel_behind final : public ChannelInterface {
 public:
  channel_behind(ChannelInterface* of, std::size_t position) : of_(of), position_(position) {}
  grpc_connectivity_state GetState(bool try_to_connect) override { return of_->GetState(try_to_connect); }
  channel_core* core() override { return of_->core(); }
  Channel* origin() override { return of_->origin(); }
  std::size_t first_interceptor() override { return position_; }

 private:
  void NotifyOnStateChangeImpl(grpc_connectivity_state last_observed, gpr_timespec deadline,
                               CompletionQueue* queue, void* tag) override {
    of_->NotifyOnStateChange(last_observed, deadline, queue, tag);
  }
  bool WaitForStateChangeImpl(grpc_connectivity_state last_observed, gpr_timespec deadline) override {
    return of_->WaitForStateChange(last_observed, deadline);
  }
  ChannelInterface* const of_;
  const std::size_t position_;
};

class client_interception final : public call_interception {
 public:
  client_interception(ChannelInterface* channel, const RpcMethod& method, ClientContext* context)
      : info_(context, method, channel) {
    const auto& factories = channel->core()->interceptor_factories();
    for (std::size_t i = channel->first_interceptor(); i < factories.size(); ++i) add(*factories[i]);
    if (auto* const global = of_all_channels.load()) add(*global);
  }
  [[nodiscard]] bool empty() const noexcept { return interceptors_.empty(); }

 private:
  void add(experimental::ClientInterceptorFactoryInterface& by) {
    if (auto* const made = by.CreateClientInterceptor(&info_)) interceptors_.emplace_back(made);
  }
  void take_metadata(interceptor_batch& b) override {
    ClientContext& context = *info_.client_context();
    if (b.sends_initial) b.initial = client_context_access::sent_map(context);
    // The loop may set at the same time what other batches receive.
    b.received_initial = b.receives_initial ? client_context_access::initial_map(context) : &b.no_pairs;
    b.received_trailing = b.receives_status ? client_context_access::trailing_map(context) : &b.no_pairs;
  }
  void give_metadata(interceptor_batch& b) override {
    if (b.sends_initial) client_context_access::set_sent(*info_.client_context(), b.initial);
  }
  std::unique_ptr<ChannelInterface> channel_after(std::size_t position) override {
    ChannelInterface* const of = info_.channel();
    return std::make_unique<channel_behind>(of, of->first_interceptor() + position);
  }
  experimental::ClientRpcInfo info_;
};

std::shared_ptr<call_interception> intercept_call(ChannelInterface* channel, const RpcMethod& method,
                                                  ClientContext* context) {
  channel_core* const core = channel->core();
  if (!core || (core->interceptor_factories().empty() && !of_all_channels.load(std::memory_order_relaxed)))
    return nullptr;
  auto made = std::make_shared<client_interception>(channel, method, context);
  if (made->empty()) return nullptr;
  if (client_context_access::set_interception(*context, made)) made->cancelled();
  return made;
}

// --- servers

void intercepted_begin(call_interception& seen, void* request) {
  interceptor_batch b;
  b.receives_initial = seen.first_receive();
  b.add(hook_point::POST_RECV_INITIAL_METADATA);
  if (request) {
    b.receive(request);
    b.set_received(true);
  }
  seen.after(b);
}

server_interception::server_interception(const interceptor_factories& by, ServerContextBase& context,
                                         const RpcMethod& method)
    : info_(&context, method) {
  for (const auto& factory : by)
    if (auto* const made = factory->CreateServerInterceptor(&info_)) interceptors_.emplace_back(made);
}

std::shared_ptr<call_interception> intercept_call(std::shared_ptr<const server_interceptors> by,
                                                  ServerContextBase& context) {
  if (!by) [[likely]]
    return nullptr;
  struct kept {
    kept(std::shared_ptr<const server_interceptors> from, ServerContextBase& of)
        : method(std::move(from)), call(*method->by, of, method->method) {}
    const std::shared_ptr<const server_interceptors> method;
    server_interception call;
  };
  const auto made = std::make_shared<kept>(std::move(by), context);
  if (made->call.empty()) return nullptr;
  std::shared_ptr<call_interception> seen(made, &made->call);
  server_context_access::set_interception(context, seen);
  return seen;
}

void server_interception::take_metadata(interceptor_batch& b) {
  ServerContextBase& context = *info_.server_context();
  if (b.sends_initial) b.initial = server_context_access::initial_map(context);
  if (b.receives_initial) b.received_initial = server_context_access::client_map(context);
  if (b.QueryInterceptionHookPoint(hook::PRE_SEND_STATUS))
    b.trailing = server_context_access::trailing_map(context);
}

void server_interception::give_metadata(interceptor_batch& b) {
  ServerContextBase& context = *info_.server_context();
  if (b.sends_initial) server_context_access::set_initial(context, b.initial);
  if (b.QueryInterceptionHookPoint(hook::PRE_SEND_STATUS))
    server_context_access::set_trailing(context, b.trailing);
}

std::unique_ptr<ChannelInterface> server_interception::channel_after(std::size_t /*position*/) {
  return nullptr;
}

}  // namespace grpc::internal

namespace grpc::experimental {

void RegisterGlobalClientInterceptorFactory(ClientInterceptorFactoryInterface* factory) {
  internal::of_all_channels = factory;
}
void TestOnlyResetGlobalClientInterceptorFactory() { internal::of_all_channels = nullptr; }

}  // namespace grpc::experimental
