// What stubs hand out, as far as it does not depend on the messages' types: its way into client_call.
#include "client/client_call.hpp"
#include "client/stream_chain.hpp"
#include "client/unary_chain.hpp"
#include "coracle/client/client_stream.hpp"
#include "coracle/client/unary_call.hpp"

namespace coracle::client {

unary_operation::~unary_operation() {
  if (chain_) chain_->abandon();
  if (call_) call_->dispose();
}

bool unary_operation::start_chain(std::coroutine_handle<> waiter,
                                  const coro::environment& inherited) noexcept {
  chain_ = new unary_chain(channel_.interceptors(), *this, path_, options_);
  chain_->begin(inherited, inherited.stop);
  if (!chain_) return false;
  chain_->set_waiter(waiter);
  return true;
}

void unary_operation::try_once(const coro::environment& inherited, const call_options& options) noexcept {
  if (call_) call_->dispose();
  call_ = new client_call(channel_, path_, call_options(options));
  call_->set_unary(*this, request_codec_, request_);
  call_->begin(inherited);
}

bool unary_operation::start(std::coroutine_handle<> waiter, const coro::environment& inherited) noexcept {
  if (!channel_.interceptors().empty()) [[unlikely]]
    return start_chain(waiter, inherited);
  if (!base::if_memory_allows([&] { call_ = new client_call(channel_, path_, std::move(options_)); })) {
    status_ = rpc::out_of_memory();
    return false;
  }
  call_->set_unary(*this, request_codec_, request_);
  call_->begin(inherited);
  if (call_->ended()) {
    status_ = call_->outcome();
    return false;
  }
  waiter_ = waiter;
  return true;
}

end_operation::~end_operation() {
  if (call_) call_->forget(*this);
}

void end_operation::stopped(coro::stop_callback& self) noexcept {
  auto& op = static_cast<end_operation&>(self);
  if (op.call_) op.call_->cancel();
}

bool end_operation::start(client_call& c, std::coroutine_handle<> waiter,
                          const coro::stop_token& stop) noexcept {
  waiter_ = waiter;
  if (stop.stop_requested()) c.cancel();
  if (!c.wait_for_end(*this)) return false;
  call_ = &c;
  stop.subscribe(*this);
  return true;
}

head_operation::~head_operation() {
  if (call_) call_->forget(*this);
}

void head_operation::stopped(coro::stop_callback& self) noexcept {
  auto& op = static_cast<head_operation&>(self);
  if (op.call_) op.call_->stop_waiting_for_head(status::cancelled("the task was asked to stop"));
}

bool head_operation::start(client_call& c, std::coroutine_handle<> waiter,
                           const coro::stop_token& stop) noexcept {
  run = [](coro::work& w) noexcept {
    auto& op = static_cast<head_operation&>(w);
    op.stop_callback::unlink();
    op.waiter_.resume();
  };
  waiter_ = waiter;
  if (!c.wait_for_head(*this)) return false;
  call_ = &c;
  if (!stop.subscribe(*this)) c.stop_waiting_for_head(status::cancelled("the task was asked to stop"));
  return true;
}

void client_stream::deleter::operator()(client_call* c) const noexcept { c->dispose(); }

client_stream::client_stream(call_channel& channel, const char* path, const call_options& options,
                             bool one_reply)
    : call_(new client_call(channel, path, call_options(options))) {
  if (one_reply) call_->has_one_reply();
}

client_stream::client_stream(call_channel& channel, const char* path, const call_options& options,
                             const rpc::codec& k, const void* request)
    : client_stream(channel, path, options) {
  call_->set_request(k, request);
}

void client_stream::cancel() { call_->cancel(); }
const metadata& client_stream::initial_metadata() const noexcept { return call_->initial(); }
const metadata& client_stream::trailing_metadata() const noexcept { return call_->trailing(); }
bool client_stream::read_compressed() const noexcept { return call_->read_compressed(); }
loop& client_stream::blocking_home() const { return blocking_home_of(*call_); }

void ensure_begun(client_call& c, const coro::environment& inherited) noexcept {
  if (!c.begun() && !c.ended()) c.begin_stream(inherited);
}
rpc::call* stream_of(client_call& c) noexcept { return &c; }
void half_close(client_call& c) noexcept { c.half_close(); }
void expect_reply(client_call& c, const rpc::codec& k, void* into) noexcept { c.expect_reply(k, into); }
const status& status_of(client_call& c) noexcept { return c.outcome(); }
loop& blocking_home_of(client_call& c) { return c.begun() ? c.home() : c.channel().blocking_home(); }

}  // namespace coracle::client
