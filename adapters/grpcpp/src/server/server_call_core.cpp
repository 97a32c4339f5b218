#include "adapters/grpcpp/src/server/server_call_core.hpp"

#include "adapters/grpcpp/src/credentials/auth_context.hpp"
#include "adapters/grpcpp/src/credentials/auth_processing.hpp"
#include "adapters/grpcpp/src/values/addresses.hpp"
#include "adapters/grpcpp/src/values/sent_metadata.hpp"
#include "adapters/grpcpp/src/values/statuses.hpp"

#include "coracle/coro/stop_on.hpp"
#include "coracle/rpc/call_ended.hpp"

#include <charconv>
#include <chrono>
#include <cstdint>
#include <string>
#include <system_error>
#include <utility>

namespace grpc::internal {

using coracle::bytes_message;
using coracle::task;

namespace {

gpr_timespec deadline_of(const coracle::server_context& call, coracle::time_point now) {
  if (call.deadline() == coracle::never) return gpr_inf_future(GPR_CLOCK_MONOTONIC);
  const coracle::duration left = call.deadline() - now;
  return gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_nanos(left.count(), GPR_TIMESPAN));
}

// Programs of this API set it as metadata, which Coracle reserves. What is no time forbids retries (gRFC A6).
void set_pushback(coracle::server_context& call, const std::string& text) {
  std::int32_t ms = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), ms);
  if (error == std::errc() && end == text.data() + text.size() && ms >= 0)
    call.retry_after(std::chrono::milliseconds(ms));
  else call.do_not_retry();
}

}  // namespace

template <class MakeStatus>
void server_call_core::end_with(MakeStatus early) noexcept {
  const std::lock_guard lock(changing_);
  if (closed_ || end_ || early_) return;
  early_ = early();
  cancelled_.store(true, std::memory_order_release);
  ending_.post_to(where_);
}

void server_call_core::try_cancel() noexcept {
  end_with([] { return coracle::status::cancelled("the server cancelled the call"); });
}

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
        server_call_core& of = static_cast<cancel_hook&>(s).of_;
        of.cancelled_.store(true, std::memory_order_release);
        of.ending_.post_to(of.where_);
      }),
      of_(c) {}

server_call_core::server_call_core(coracle::server_context& of, bytes_message request,
                                   std::optional<coracle::reader<bytes_message>> reader,
                                   std::optional<coracle::writer<bytes_message>> writer)
    : where_(*coracle::loop::current()),
      deadline_(deadline_of(of, where_.now())),
      request_(std::move(request)),
      authority_(of.authority()),
      peer_address_(of.peer()),
      connection_(of.auth() ? of.auth()->shared_from_this() : nullptr),
      reader_(reader),
      writer_(writer),
      call_(&of) {
  if (const auto processed = auth_processing::take(of)) {
    auth_ = processed->context;
    consumed_.insert(processed->consumed.begin(), processed->consumed.end());
  }
}

// --- the coroutine

task<coracle::status> server_call_core::run(std::shared_ptr<server_call_core> self, call_starter& by) {
  server_call_core& call = *self;
  cancel_hook hook(call);
  if (!call.call_->stop_token().subscribe(hook)) hook();
  coracle::status outcome;
  if (call.json_ && !call.reader_) outcome = call.json_->read_request(call.request_);
  if (outcome.ok()) outcome = by.begin(self);
  if (!outcome.ok()) {
    static_cast<void>(call.close());
    call.leave(true);
    co_return outcome;
  }
  co_await call.ending_;
  std::optional<call_end> end = call.close();
  call.reads_.request_stop();
  if (!end) call.operations_.request_stop();
  bool pending = false;
  {
    const std::lock_guard lock(call.changing_);
    pending = call.started_ != 0;
  }
  if (pending) co_await call.no_operations_;
  if (end) {
    call.pass(std::move(end->headers));
    bool sent = true;
    if (end->last_message) {
      auto written = call.write_one(*end->last_message, end->last_options);
      sent = co_await std::move(written);
    }
    outcome = sent ? call.send_end(*end) : coracle::status::cancelled("the last message was not sent");
  } else {
    by.forget(call);
    // Without one, the call has ended for its client.
    outcome = call.early_.value_or(coracle::status::cancelled("the call was cancelled"));
  }
  hook.unlink();
  call.leave(!end || call.call_->cancelled());
  co_return outcome;
}

std::optional<call_end> server_call_core::close() {
  const std::lock_guard lock(changing_);
  closed_ = true;
  return std::exchange(end_, std::nullopt);
}

void server_call_core::send_load() {
  if (!records_load_) return;
  const call_metrics* recorded = nullptr;
  {
    const std::lock_guard lock(changing_);
    recorded = load_.get();
  }
  if (recorded) call_->load() = recorded->report();
}

coracle::status server_call_core::send_end(call_end& end) {
  // Of a call without a message, too, the client gets the initial metadata apart from those of the status.
  if (has_initial_ && (writer_ || !end.outcome.ok())) call_->send_initial_metadata();
  const std::string* details = nullptr;  // which programs of before Status::error_details() send as metadata
  for (const auto& [key, value] : end.trailing) {
    if (key == "grpc-retry-pushback-ms") set_pushback(*call_, value);
    else if (key == "grpc-status-details-bin" && !end.outcome.ok()) details = &value;
    else static_cast<void>(add_pair(call_->trailing_metadata(), key, value, sent_with::reply));
  }
  send_load();
  bytes_message reply(std::move(end.reply));
  if (json_ && !writer_ && end.outcome.ok()) {
    coracle::status written = json_->write_reply(reply);
    if (!written.ok()) return written;
  }
  reply_ = std::move(reply).bytes();
  if (details && end.outcome.error_details().empty())
    return status_of({end.outcome.error_code(), end.outcome.error_message(), *details});
  return status_of(end.outcome);
}

void server_call_core::leave(bool cancelled) noexcept {
  std::unique_ptr<end_observer> done;
  std::unique_ptr<end_observer> observer;
  std::shared_ptr<call_children> children;
  {
    const std::lock_guard lock(changing_);
    copy_of_call();
    call_ = nullptr;
    left_ = true;
    if (cancelled) cancelled_.store(true, std::memory_order_release);
    done = std::move(done_);
    observer = std::move(observer_);
    children = children_;
  }
  if (children) children->end();
  // In the order of grpc++: a program may destroy the call with the event of its Finish().
  if (observer) end_observer::tell(std::move(observer), cancelled);
  if (done) end_observer::tell(std::move(done), cancelled);
}

// --- the program

server_call_core::operation server_call_core::begin_operation() {
  const std::lock_guard lock(changing_);
  if (closed_ || early_) return {};
  ++started_;
  return operation(shared_from_this());
}

// Signals are posted with the lock, without which leave() does not end the call: the loop may be gone then.
void server_call_core::end_operation() noexcept {
  const std::lock_guard lock(changing_);
  if (--started_ == 0 && closed_) no_operations_.post_to(where_);
}

void server_call_core::finish(call_end&& end, std::unique_ptr<end_observer> done) {
  {
    const std::lock_guard lock(changing_);
    if (!closed_ && !end_ && !early_) {
      end_ = std::move(end);
      done_ = std::move(done);
      ending_.post_to(where_);
      return;
    }
  }
  if (done) end_observer::tell(std::move(done), true);
}

void server_call_core::observe_end(std::unique_ptr<end_observer> by) {
  {
    const std::lock_guard lock(changing_);
    if (!left_) {
      observer_ = std::move(by);
      return;
    }
  }
  end_observer::tell(std::move(by), is_cancelled());
}

void server_call_core::copy_of_call() {
  if (std::exchange(copied_, true)) return;
  for (const auto& [key, value] : call_->metadata())
    if (!is_hidden(key) && (consumed_.empty() || !consumed_.contains({std::string(key), std::string(value)})))
      metadata_.add(key, value);
}

const metadata_map& server_call_core::client_metadata() {
  const std::lock_guard lock(changing_);
  copy_of_call();
  return metadata_;
}

std::shared_ptr<call_children> server_call_core::children() {
  const std::lock_guard lock(changing_);
  if (!children_) {
    children_ = std::make_shared<call_children>();
    if (left_) children_->end();
  }
  return children_;
}

call_metrics* server_call_core::load() {
  if (!records_load_) return nullptr;
  const std::lock_guard lock(changing_);
  if (!load_) load_ = std::make_unique<call_metrics>();
  return load_.get();
}

std::size_t server_call_core::client() const noexcept { return client_of(peer_address_); }

std::string server_call_core::peer() const { return text_of(peer_address_, "unknown"); }

std::shared_ptr<const AuthContext> server_call_core::auth() {
  const std::lock_guard lock(changing_);
  if (!auth_)
    auth_ = connection_ ? std::make_shared<const own_auth_context>(*connection_)
                        : std::make_shared<const own_auth_context>();
  return auth_;
}

// --- the operations

task<bool> server_call_core::read(operation of, bytes_message& into) {
  const operation held(std::move(of));
  server_call_core& call = held.call();
  if (!call.reader_) co_return false;
  auto wait = call.reader_->read(into);
  coracle::stop_on limited(call.reads_.token(), std::move(wait));
  try {
    const coracle::result<bool> got = co_await std::move(limited);
    if (!got.ok() || !*got) co_return false;
  } catch (const coracle::coro::cancelled&) {  // or call_ended
    co_return false;
  }
  if (!call.json_) co_return true;
  coracle::status is_message = call.json_->read_request(into);
  if (is_message.ok()) co_return true;
  call.end_with([&] { return std::move(is_message); });
  co_return false;
}

task<bool> server_call_core::write(operation of, const bytes_message& message, coracle::write_options options,
                                   sent_headers headers) {
  const operation held(std::move(of));
  held.call().pass(std::move(headers));
  auto wait = held.call().write_one(message, options);
  co_return co_await std::move(wait);
}

task<bool> server_call_core::write_one(const bytes_message& message, coracle::write_options options) {
  if (!writer_) co_return false;
  bytes_message text;
  if (json_) {
    text = message;
    coracle::status written = json_->write_reply(text);
    if (!written.ok()) {
      end_with([&] { return std::move(written); });
      co_return false;
    }
  }
  auto wait = writer_->write(json_ ? text : message, options);
  coracle::stop_on limited(operations_.token(), std::move(wait));
  try {
    const coracle::status s = co_await std::move(limited);
    co_return s.ok();
  } catch (const coracle::coro::cancelled&) {
    co_return false;
  }
}

task<bool> server_call_core::send_initial_metadata(operation of, sent_headers headers) {
  const operation held(std::move(of));
  server_call_core& call = held.call();
  if (call.is_cancelled()) co_return false;
  call.pass(std::move(headers));
  call.call_->send_initial_metadata();
  co_return true;
}

// On the loop. After the first message it has no effect.
void server_call_core::pass(sent_headers&& headers) {
  for (const auto& [key, value] : headers.pairs)
    static_cast<void>(add_pair(call_->initial_metadata(), key, value, sent_with::reply));
  if (!headers.pairs.empty()) has_initial_ = true;
  if (headers.compression) call_->compression(compression_of(*headers.compression));
}

}  // namespace grpc::internal
