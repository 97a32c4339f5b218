#include "server_call_core.hpp"

#include "auth_context.hpp"
#include "blocking.hpp"
#include "statuses.hpp"

#include "coracle/coro/stop_on.hpp"
#include "coracle/rpc/call_ended.hpp"

#include <chrono>
#include <utility>

namespace grpc::internal {

using coracle::bytes_message;
using coracle::task;

namespace {

gpr_timespec deadline_of(const coracle::server_context& call, coracle::time_point now) {
  if (call.deadline() == coracle::never) return gpr_inf_future(GPR_CLOCK_REALTIME);
  const coracle::duration left = call.deadline() - now;
  return gpr_time_add(gpr_now(GPR_CLOCK_REALTIME), gpr_time_from_nanos(left.count(), GPR_TIMESPAN));
}

// As grpc++ writes addresses.
std::string text_of(const coracle::net::address& a) {
  using family = coracle::net::address::family;
  const std::string text = a.to_string();
  if (a.kind() == family::ipv4) return "ipv4:" + text;
  if (a.kind() != family::ipv6) return text;
  const auto end = text.rfind(']');
  return "ipv6:%5B" + text.substr(1, end - 1) + "%5D" + text.substr(end + 1);
}

}  // namespace

server_call_core::loop_signal::loop_signal() noexcept
    : runnable{[](runnable& w) noexcept {
        auto& self = static_cast<loop_signal&>(w);
        self.arrived_ = true;
        if (self.waiter_) self.waiter_.resume();
      }} {}

void server_call_core::loop_signal::post_to(coracle::loop& where) noexcept {
  if (!posted_.exchange(true, std::memory_order_acq_rel)) where.post(*this);
}

server_call_core::cancel_hook::cancel_hook(server_call_core& c) noexcept
    : stop_callback([](stop_callback& s) noexcept {
        static_cast<cancel_hook&>(s).of_.cancelled_.store(true, std::memory_order_release);
      }),
      of_(c) {}

server_call_core::server_call_core(coracle::server_context& of, MethodHandler& handler, bytes_message request,
                                   std::optional<coracle::reader<bytes_message>> reader,
                                   std::optional<coracle::writer<bytes_message>> writer)
    : where_(*coracle::loop::current()),
      handler_(handler),
      request_(std::move(request)),
      peer_address_(of.peer()),
      connection_(of.auth() ? of.auth()->shared_from_this() : nullptr),
      call_(&of),
      reader_(reader),
      writer_(writer) {
  context_.call_ = this;
  context_.deadline_ = deadline_of(of, where_.now());
}

task<coracle::status> server_call_core::run_handler(std::shared_ptr<server_call_core> self,
                                                    handler_pool& on) {
  server_call_core& call = *self;
  cancel_hook hook(call);
  if (!call.call_->stop_token().subscribe(hook)) call.cancelled_.store(true);
  if (!on.run(self)) co_return coracle::status::resource_exhausted("all threads of the server run handlers");
  co_await call.ending_;
  hook.unlink();
  bool finished = false;
  Status outcome;
  {
    const std::lock_guard lock(call.changing_);
    finished = call.finished_ && !call.cancelled_by_handler_;
    if (finished) outcome = call.outcome_;
    else call.copy_of_call();
  }
  if (!finished) {
    auto left = call.leave_handler();
    co_await std::move(left);
    call.call_ = nullptr;
    co_return coracle::status::cancelled("the server cancelled the call");
  }
  call.pass_initial_metadata();
  // Of a call without a message, too, the client gets the initial metadata apart from those of the status.
  if (!call.context_.initial_.empty() && (call.writer_ || !outcome.ok())) call.call_->send_initial_metadata();
  for (const auto& [key, value] : call.context_.trailing_) call.call_->trailing_metadata().add(key, value);
  call.call_ = nullptr;
  co_return status_of(outcome);
}

// The operations end before the call does.
task<> server_call_core::leave_handler() {
  stop_.request_stop();
  if (operations_ != 0) co_await no_operations_;
}

// --- on the thread of the handler

void server_call_core::run() noexcept {
  try {
    handler_.run(*this);
  } catch (const std::exception& e) {
    where_.log().error("grpc++: a handler of the library threw: ", e.what());
    finish(Status(StatusCode::UNKNOWN, ""), {});
  }
}

bool server_call_core::read(std::string& into) {
  bytes_message message;
  if (!run_blocking(where_, read_one(message))) return false;
  into = std::move(message).bytes();
  return true;
}

bool server_call_core::write(std::string&& message, const WriteOptions& options) {
  const bytes_message sent(std::move(message));
  return run_blocking(where_, write_one(sent, {.compress = !options.get_no_compression()}));
}

void server_call_core::send_initial_metadata() { run_blocking(where_, send_headers()); }

void server_call_core::finish(const Status& outcome, std::string&& reply) {
  {
    const std::lock_guard lock(changing_);
    finished_ = true;
    outcome_ = outcome;
    reply_ = std::move(reply);
  }
  ending_.post_to(where_);
}

// --- on the loop

task<bool> server_call_core::read_one(bytes_message& into) {
  if (!call_ || !reader_ || stop_.stop_requested()) co_return false;
  const operation_guard counted(*this);
  auto wait = reader_->read(into);
  coracle::stop_on limited(stop_.token(), std::move(wait));
  try {
    const coracle::result<bool> got = co_await std::move(limited);
    co_return got.ok() && *got;
  } catch (const coracle::coro::cancelled&) {  // or call_ended
    co_return false;
  }
}

task<bool> server_call_core::write_one(const bytes_message& message, coracle::write_options options) {
  if (!call_ || !writer_ || stop_.stop_requested()) co_return false;
  const operation_guard counted(*this);
  pass_initial_metadata();
  auto wait = writer_->write(message, options);
  coracle::stop_on limited(stop_.token(), std::move(wait));
  try {
    const coracle::status s = co_await std::move(limited);
    co_return s.ok();
  } catch (const coracle::coro::cancelled&) {
    co_return false;
  }
}

task<> server_call_core::send_headers() {
  if (!call_) co_return;
  pass_initial_metadata();
  call_->send_initial_metadata();
}

void server_call_core::pass_initial_metadata() {
  if (std::exchange(passed_initial_, true)) return;
  for (const auto& [key, value] : context_.initial_) call_->initial_metadata().add(key, value);
  if (context_.compression_) call_->compression(compression_of(*context_.compression_));
}

// --- what the context tells

void server_call_core::copy_of_call() {
  if (std::exchange(copied_, true)) return;
  add_to(metadata_, call_->metadata());
}

const metadata_map& server_call_core::client_metadata() {
  const std::lock_guard lock(changing_);
  copy_of_call();
  return metadata_;
}
std::string server_call_core::peer() const { return text_of(peer_address_); }
std::shared_ptr<const AuthContext> server_call_core::auth() {
  const std::lock_guard lock(changing_);
  if (!auth_)
    auth_ = connection_ ? std::make_shared<const own_auth_context>(*connection_)
                        : std::make_shared<const own_auth_context>();
  return auth_;
}

void server_call_core::try_cancel() {
  cancelled_.store(true, std::memory_order_release);
  {
    const std::lock_guard lock(changing_);
    if (finished_) return;
    cancelled_by_handler_ = true;
  }
  ending_.post_to(where_);
}

}  // namespace grpc::internal

namespace grpc {

bool ServerContextBase::IsCancelled() const { return call_ && call_->is_cancelled(); }

void ServerContextBase::TryCancel() const {
  if (call_) call_->try_cancel();
}

const std::multimap<string_ref, string_ref>& ServerContextBase::client_metadata() const {
  static const std::multimap<string_ref, string_ref>& none = *new std::multimap<string_ref, string_ref>;
  return call_ ? call_->client_metadata().map() : none;
}

std::shared_ptr<const AuthContext> ServerContextBase::auth_context() const {
  if (call_) return call_->auth();
  return std::make_shared<const internal::own_auth_context>();
}

std::string ServerContextBase::peer() const { return call_ ? call_->peer() : std::string(); }

}  // namespace grpc
