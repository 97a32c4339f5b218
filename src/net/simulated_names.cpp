#include "net/simulated_names.hpp"

#include "coracle/coro/sleep.hpp"
#include "coracle/net/resolver.hpp"
#include "net/name_error.hpp"
#include "net/raw_address.hpp"

#include <algorithm>

namespace coracle::net {

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

}  // namespace coracle::net
