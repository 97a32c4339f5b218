// What a server makes of handlers and interceptors that throw or break their contract.
#include "base/printable.hpp"
#include "coracle/rpc/call_ended.hpp"
#include "coracle/runtime/loop.hpp"
#include "rpc/message_format.hpp"
#include "server/server_call.hpp"

#include <cxxabi.h>
#include <cstdlib>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <utility>

namespace coracle::server_internal {

namespace {

// An error's text names a file or a query as a rule; the place of a usage_error comes last.
constexpr std::size_t what_bytes_max = 1000;

// Of the exception that is being handled.
std::string type_name() {
  const std::type_info* const type = abi::__cxa_current_exception_type();
  if (!type) return "(no C++ type)";
  int outcome = 0;
  const std::unique_ptr<char, void (*)(void*)> readable(
      abi::__cxa_demangle(type->name(), nullptr, nullptr, &outcome), &std::free);
  return outcome == 0 ? readable.get() : type->name();
}

}  // namespace

// Where there is no memory for a line, the call still ends with its status.
template <class Make>
void server_call::log_defect(std::string_view whose, Make make) noexcept {
  const loop& here = *loop::current();
  try {
    std::string line(whose);
    line.append(" of ").append(base::printable(method_)).append(" ");
    make(line);
    set_.defect_line(foreign_ ? nullptr : method_.data())
        .write(here.log(), log_level::error, here.now(), std::move(line));
  } catch (const std::bad_alloc&) {
    here.log().write(log_level::error, "a handler failed, and no memory is left to say which");
  }
}

status server_call::defect(std::string_view whose, std::string_view text,
                           std::string_view for_client) noexcept {
  log_defect(whose, [&](std::string& line) { line.append(text); });
  return status::internal(for_client);
}

status server_call::status_of_exception(const std::exception_ptr& error, std::string_view whose) noexcept {
  const auto log = [&](std::string_view text) {
    log_defect(whose, [&](std::string& line) {
      line.append("threw ").append(type_name());
      if (!text.empty()) line.append(": ").append(base::printable(text, what_bytes_max));
      line.append(" (peer ").append(peer().to_string()).append(")");
    });
  };
  // A cancellation that the call's end or an interceptor's timeout has caused is not logged.
  const bool stopped = cancelled() || own_environment_.stop.stop_requested();
  try {
    std::rethrow_exception(error);
  } catch (const call_ended& e) {
    // From a call that the handler made itself, its status would say more than the client should know.
    if (!stopped) log(e.what());
    return status::cancelled("the handler gave way");
  } catch (const coro::cancelled& e) {
    if (!stopped) log(e.what());
    return status::cancelled("the handler was asked to stop");
  } catch (const status_error& e) {
    return e.status();
  } catch (const std::bad_alloc& e) {
    log(e.what());
    return rpc::out_of_memory();
  } catch (const std::exception& e) {
    log(e.what());
  } catch (...) {
    log({});
  }
  return status::unknown("the handler failed");
}

}  // namespace coracle::server_internal
