#include "coracle/client/then.hpp"

#include "base/printable.hpp"
#include "coracle/base/log.hpp"
#include "coracle/coro/environment.hpp"
#include "rpc/exception_text.hpp"
#include "rpc/message_format.hpp"
#include "runtime/repeated_lines.hpp"

#include <new>
#include <string_view>

namespace coracle::client {

namespace {

std::string line_about(const char* method, const std::exception_ptr& error) {
  std::string line("the callback of ");
  line.append(base::printable(method)).append(" ").append(rpc::exception_text(error));
  return line;
}

}  // namespace

void log_callback_failure(const char* method, const std::exception_ptr& error) noexcept {
  loop& here = *loop::current();
  try {
    repeated_lines::write(here, log_room::client, log_level::error, nullptr,
                          std::string("callback ") + method + " " + rpc::exception_type(error),
                          line_about(method, error));
  } catch (const std::bad_alloc&) {
    here.log().write(log_room::client, log_level::error,
                     "a callback of a call failed (out of memory for the details)");
  }
}

status status_of_failure(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const status_error& e) {
    return e.status();
  } catch (const coro::cancelled&) {
    return status::cancelled("the call was cancelled");
  } catch (const std::bad_alloc&) {
    return rpc::out_of_memory();
  } catch (const std::exception& e) {
    return status::internal(e.what());
  }
}

void delivery::run() noexcept {
  if (ran_.exchange(true)) return;
  std::exception_ptr error;
  try {
    call();
  } catch (...) {
    error = std::current_exception();
  }
  end(error);
}

void delivery::drop() noexcept {
  if (ran_.exchange(true)) return;
  forget();
  end(nullptr);
}

void delivery::end(const std::exception_ptr& error) noexcept {
  if (link_.wake([&] { error_ = error; }) || !error) return;
  // The runtime has ended, and perhaps its logger.
  try {
    stderr_logger().write(log_room::client, log_level::error, line_about(method_.c_str(), error));
  } catch (const std::bad_alloc&) {
    stderr_logger().write(log_room::client, log_level::error,
                          "a callback of a call failed (out of memory for the details)");
  }
}

task<> delivery::wait_for_end(std::shared_ptr<delivery> self, stream_hold of) {
  try {
    co_await self->link_.changed();
  } catch (const coro::cancelled&) {
    // The runtime stops, and does not wait for the executor.
  }
  self->link_.close();
  if (!self->error_) co_return;
  log_callback_failure(self->method_.c_str(), self->error_);
  of.cancel();
}

}  // namespace coracle::client
