#include "server/handover/successor_process.hpp"

#include "base/if_memory_allows.hpp"
#include "coracle/coro/scope.hpp"
#include "coracle/coro/with_timeout.hpp"
#include "net/io_wait.hpp"

#include <exception>
#include <new>
#include <string>
#include <system_error>
#include <utility>

namespace coracle::server_internal {

namespace {

namespace kernel = runtime_internal::kernel;

task<> until_process_ends(int descriptor, event<>& settled) {
  net::io_wait wait(*loop::current(), runtime_internal::operation::kind::poll_in, descriptor);
  const std::int64_t outcome = co_await wait;
  if (outcome >= 0) settled.set();
}

task<> until_event(event<>& e) { co_await e; }

}  // namespace

successor_process::successor_process(loop& on, duration start_time, std::function<void(std::int64_t)> ended)
    : on_(on),
      start_time_(start_time),
      ended_(std::move(ended)),
      program_(kernel::read_own_program()),
      wanted_(on),
      settled_(on) {}

void successor_process::log(log_level level, std::string_view text) noexcept {
  on_.log().write(log_room::server, level, text);
}

void successor_process::forget_variable(std::string_view name) {
  const std::string begin = std::string(name) + "=";
  std::erase_if(program_.environment, [&begin](const std::string& one) { return one.starts_with(begin); });
}

void successor_process::start() {
  if (kernel::is_first_process())
    return log(log_level::error, "no successor is started: " + std::string(first_process));
  kernel::child_process child;
  const std::int64_t started = kernel::start(program_, child);
  if (started < 0)
    return log(log_level::error,
               "the successor cannot be started: " +
                   (program_.arguments.empty() ? std::string() : program_.arguments.front() + ": ") +
                   std::generic_category().message(static_cast<int>(-started)) +
                   ": this process goes on serving");
  const std::int64_t process_id = child.process_id;
  child_ = std::move(child);
  serves_ = has_ended_ = false;
  superseded_by_ = 0;
  settled_.reset();
  wanted_.set();
  base::if_memory_allows(
      [&] { log(log_level::info, "started the successor, process " + std::to_string(process_id)); });
}

void successor_process::note_serving(std::int64_t process_id) noexcept {
  if (!child_ || has_ended_) return;
  // One in another namespace has no id here.
  if (process_id <= 0 || kernel::descends_from(process_id, *child_)) serves_ = true;
  else superseded_by_ = process_id;
  settled_.set();
}

void successor_process::end_unless_it_serves() noexcept {
  if (child_ && !serves_) kill();
}

void successor_process::kill() noexcept {
  if (!has_ended_ && kernel::kill_and_wait(*child_)) note_end();
}

void successor_process::note_end() noexcept {
  has_ended_ = true;
  ended_(child_->process_id);
}

// Of a child that does not serve.
void successor_process::end(bool stops, bool in_time) noexcept {
  std::string end;
  base::if_memory_allows([&] { end = kernel::take_end(*child_); });
  if (end.empty() && (stops || !in_time || superseded_by_ != 0)) kernel::kill_at_once(*child_);
  if (stops) return;
  base::if_memory_allows([&] {
    if (end.empty() && superseded_by_ != 0)
      end = "is killed: process " + std::to_string(superseded_by_) + " serves in its place";
    else if (end.empty())
      end = in_time ? "ended" : "did not serve within handover_options::start_time, and is killed";
    if (superseded_by_ == 0) end += ": this process goes on serving";
    log(log_level::error, "the successor, process " + std::to_string(child_->process_id) + ", " + end);
  });
}

// Until a child serves, this deals with its end; then the connection to it does. Here it is awaited in any
// case, so that the system forgets it.
task<> successor_process::watch() {
  for (;;) {
    co_await wanted_;
    wanted_.reset();
    std::exception_ptr stopped;
    bool in_time = false;
    try {
      in_time = co_await until_settled();
    } catch (const coro::cancelled&) {
      stopped = std::current_exception();
    } catch (const std::bad_alloc&) {
      log(log_level::error, "the process is out of memory: it cannot watch its successor, and ends it");
    }
    if (!serves_) end(stopped != nullptr, in_time);
    if (!stopped && child_->end.is_open()) {
      net::io_wait end_of_child(on_, runtime_internal::operation::kind::poll_in, child_->end.get());
      if (co_await end_of_child >= 0) {
        base::if_memory_allows([&] { static_cast<void>(kernel::take_end(*child_)); });
        note_end();
      }
    }
    // One that was killed ends at once, and the system must forget it.
    if (!serves_) kill();
    if (child_->end.is_open()) on_.io().forget(child_->end.get());
    child_.reset();
    if (stopped) std::rethrow_exception(stopped);
  }
}

// False if that takes too long.
task<bool> successor_process::until_settled() {
  const coro::environment& here = co_await coro::this_environment();
  scope watching(here);
  std::exception_ptr failed;
  bool in_time = false;
  try {
    if (child_->end.is_open()) watching.spawn(until_process_ends(child_->end.get(), settled_));
    const status waited = co_await with_timeout(start_time_, until_event(settled_));
    in_time = waited.ok();
  } catch (...) {
    failed = std::current_exception();
  }
  watching.request_stop();
  try {
    co_await watching.join();
  } catch (...) {
    if (!failed) failed = std::current_exception();
  }
  if (failed) std::rethrow_exception(failed);
  co_return in_time;
}

}  // namespace coracle::server_internal
