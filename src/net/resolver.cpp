#include "coracle/net/resolver.hpp"

#include "coracle/base/result.hpp"
#include "coracle/coro/sleep.hpp"
#include "coracle/coro/task.hpp"
#include "coracle/net/address.hpp"
#include "coracle/runtime/loop.hpp"
#include "net/connect.hpp"
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
task<result<std::vector<address>>> answer_in_time(loop& on, runtime_internal::name_answer said,
                                                  std::string host, std::uint16_t port);

namespace {

std::vector<address> addresses_of(const runtime_internal::name_answer& said, std::uint16_t port) {
  std::vector<address> found;
  for (const runtime_internal::raw_address& raw : said.addresses) {
    if (found.size() == resolver::answers_max) break;
    found.push_back(from_raw(raw).with_port(port));
  }
  return found;
}

}  // namespace

task<result<std::vector<address>>> answer_in_time(loop& on, runtime_internal::name_answer said,
                                                  std::string host, std::uint16_t port) {
  const coro::environment& here = co_await coro::this_environment();
  const time_point answered = deadline_after(on.now(), said.after);
  try {
    co_await sleep_until(std::min(answered, here.deadline));
  } catch (const coro::cancelled&) {
    if (on.now() < here.deadline) co_return name_stopped(host);
  }
  if (on.now() < answered) co_return name_late(host);
  if (said.what == runtime_internal::name_answer::outcome::failed) co_return no_name_server(host);
  if (said.what == runtime_internal::name_answer::outcome::no_such_name) co_return no_such_name(host);
  co_return addresses_of(said, port);
}

resolver::resolver() noexcept = default;
resolver::resolver(resolver&&) noexcept = default;
resolver& resolver::operator=(resolver&&) noexcept = default;
resolver::~resolver() = default;

task<result<std::vector<address>>> resolver::resolve(std::string host, std::uint16_t port) {
  std::vector<address> known = addresses_at_once(host, port);
  if (!known.empty()) co_return known;
  const status fit = check_host_name(host);
  if (!fit.ok()) co_return fit;

  loop& on = current_loop();
  runtime_internal::name_answer said;
  if (on.io().look_up(host, said)) {
    task<result<std::vector<address>>> answer = answer_in_time(on, std::move(said), std::move(host), port);
    co_return co_await std::move(answer);
  }
  if (!dns_) dns_ = std::make_unique<dns_source>(on);
  co_return co_await dns_->look_up(std::move(host), port);
}

}  // namespace coracle::net
