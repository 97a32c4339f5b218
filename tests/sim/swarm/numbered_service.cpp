#include "sim/swarm/numbered_service.hpp"

#include "sim/swarm/numbered_text.hpp"

#include "coracle/coro/sleep.hpp"

#include <chrono>
#include <cstdlib>

namespace coracle::swarm {

std::uint64_t numbered_service::number_in(const server_context& context, const char* key) {
  return std::strtoull(std::string(context.metadata().find(key).value_or("0")).c_str(), nullptr, 10);
}

std::uint64_t numbered_service::begin(const server_context& context) {
  if (secure_) secure_->look_at(context, false);
  return number_in(context, "x-call");
}

task<> numbered_service::think(const server_context& context) {
  const std::uint64_t pause_ms = number_in(context, "x-pause-ms");
  if (pause_ms > 0)
    co_await sleep_for(std::chrono::milliseconds(pause_ms));  // sleeps on purpose: virtual time
}

reply<echo::Text> numbered_service::Say(server_context& context, const echo::Text& request) {
  const std::uint64_t id = begin(context);
  const presence here(ledger_, context, id);
  if (here.refuses()) co_return status::unavailable("so it was drawn");
  if (!is_numbered(request, id, 0)) ledger_.report_error(id, "its request came harmed");
  co_await think(context);
  co_return request;
}

reply<echo::Text> numbered_service::Collect(server_context& context, reader<echo::Text> texts) {
  const std::uint64_t id = begin(context);
  const presence here(ledger_, context, id);
  if (here.refuses()) co_return status::unavailable("so it was drawn");
  std::uint64_t count = 0;
  while (auto one = co_await texts.next()) {
    if (!is_numbered(*one, id, count))
      ledger_.report_error(id, "a request is lost, doubled, harmed or out of order");
    ++count;
    if (count == 1) co_await think(context);
  }
  if (count != number_in(context, "x-messages")) ledger_.report_error(id, "a cut upload looked whole");
  co_return numbered_text(id, count, 0);
}

replies<echo::Text> numbered_service::Repeat(server_context& context, const echo::Text& request) {
  const std::uint64_t id = begin(context);
  const presence here(ledger_, context, id);
  if (here.refuses()) co_return status::unavailable("so it was drawn");
  if (!is_numbered(request, id, 0)) ledger_.report_error(id, "its request came harmed");
  const std::uint64_t messages = number_in(context, "x-messages");
  for (std::uint64_t i = 0; i < messages; ++i) {
    const echo::Text reply = numbered_text(id, i, number_in(context, "x-bytes"));
    co_yield reply;
    if (i == 0) co_await think(context);
  }
  co_return status();
}

replies<echo::Text> numbered_service::Chat(server_context& context, reader<echo::Text> texts) {
  const std::uint64_t id = begin(context);
  const presence here(ledger_, context, id);
  if (here.refuses()) co_return status::unavailable("so it was drawn");
  std::uint64_t count = 0;
  echo::Text one;
  while (co_await texts.read(one)) {
    if (!is_numbered(one, id, count))
      ledger_.report_error(id, "a request is lost, doubled, harmed or out of order");
    co_yield one;
    if (count++ == 0) co_await think(context);
  }
  if (count != number_in(context, "x-messages")) ledger_.report_error(id, "a cut stream looked whole");
  co_return status();
}

}  // namespace coracle::swarm
