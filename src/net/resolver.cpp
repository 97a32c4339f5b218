#include "coracle/net/resolver.hpp"

#include "coracle/base/result.hpp"
#include "coracle/coro/sleep.hpp"
#include "coracle/coro/task.hpp"
#include "coracle/net/address.hpp"
#include "coracle/runtime/loop.hpp"
#include "net/connect.hpp"
#include "net/dns/dns_instruments.hpp"
#include "net/dns/dns_source.hpp"
#include "net/host_name.hpp"
#include "net/raw_address.hpp"
#include "runtime/backend.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace coracle::net {

// Returns the world's answer for `host` at the time at which it would arrive. Observes the awaiter's stop
// token and deadline.
task<result<std::vector<address>>> answer_in_time(loop& on, runtime_internal::name_answer found_names,
                                                  std::string host, std::uint16_t port);

namespace {

std::vector<address> addresses_of(const runtime_internal::name_answer& found_names, std::uint16_t port) {
  std::vector<address> found;
  for (const runtime_internal::raw_address& raw : found_names.addresses) {
    if (found.size() == resolver::answers_max) break;
    found.push_back(from_raw(raw).with_port(port));
  }
  return found;
}

}  // namespace

task<result<std::vector<address>>> answer_in_time(loop& on, runtime_internal::name_answer found_names,
                                                  std::string host, std::uint16_t port) {
  const coro::environment& here = co_await coro::this_environment();
  const time_point answered = deadline_after(on.now(), found_names.after);
  try {
    co_await sleep_until(std::min(answered, here.deadline));
  } catch (const coro::cancelled&) {
    if (on.now() < here.deadline) co_return name_cancelled(host);
  }
  if (on.now() < answered) co_return name_timed_out(host);
  if (found_names.result == runtime_internal::name_answer::outcome::failed) co_return no_name_server(host);
  if (found_names.result == runtime_internal::name_answer::outcome::no_such_name)
    co_return no_such_name(host);
  co_return addresses_of(found_names, port);
}

resolver::resolver() noexcept = default;
resolver::resolver(std::string name_servers) noexcept : name_servers_(std::move(name_servers)) {}
resolver::resolver(resolver&&) noexcept = default;
resolver& resolver::operator=(resolver&&) noexcept = default;
resolver::~resolver() = default;

task<result<std::vector<address>>> resolver::resolve(std::string host, std::uint16_t port) {
  std::vector<address> known = addresses_at_once(host, port);
  if (!known.empty()) co_return known;
  const status fit = check_host_name(host);
  if (!fit.ok()) co_return fit;

  loop& on = current_loop();
  const time_point began = on.now();
  runtime_internal::name_answer found_names;
  task<result<std::vector<address>>> lookup;
  if (on.io().resolve_name(host, found_names)) {
    lookup = answer_in_time(on, std::move(found_names), std::move(host), port);
  } else {
    lookup = source(on).resolve_name(std::move(host), port);
  }
  result<std::vector<address>> answer = co_await std::move(lookup);
  measure_lookup(on.now() - began, answer.status().code());
  co_return answer;
}

dns_source& resolver::source(loop& on) {
  if (!dns_) {
    dns_settings settings;
    settings.servers = name_servers_;
    dns_ = std::make_unique<dns_source>(on, std::move(settings));
  }
  return *dns_;
}

task<result<std::vector<std::string>>> resolver::texts(std::string name) {
  const status fit = check_host_name(name);
  if (!fit.ok()) co_return fit;
  loop& on = current_loop();
  if (!on.io().takes_descriptors()) co_return no_such_name(name);  // a simulated world knows addresses only
  result<dns_answer> answer = co_await source(on).records(std::move(name), dns_kind::texts);
  if (!answer.ok()) co_return answer.status();
  co_return std::move(answer->texts);
}

task<result<std::vector<service_record>>> resolver::services(std::string name) {
  const status fit = check_host_name(name);
  if (!fit.ok()) co_return fit;
  loop& on = current_loop();
  if (!on.io().takes_descriptors()) co_return no_such_name(name);
  result<dns_answer> answer = co_await source(on).records(std::move(name), dns_kind::services);
  if (!answer.ok()) co_return answer.status();
  co_return std::move(answer->services);
}

}  // namespace coracle::net
