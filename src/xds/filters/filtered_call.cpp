#include "xds/filters/filtered_call.hpp"

#include "client/balancing/subchannel.hpp"
#include "coracle/coro/sleep.hpp"

#include <utility>

namespace coracle::xds {

namespace {

class call_of_client final : public xds_client_call {
 public:
  call_of_client(std::string_view method, const coracle::metadata& sent, coracle::metadata& added) noexcept
      : xds_client_call(method, sent, added) {}
};

}  // namespace

void filtered_call::begun() {
  if (!responses_.empty()) cluster_ = of_->cluster->name;
  of_ = nullptr;
}

void filtered_call::delay(duration by, entering enter) { steps_.push_back({by, std::move(enter), {}, {}}); }

void filtered_call::end(status outcome) { steps_.push_back({{}, {}, std::move(outcome), {}}); }

void filtered_call::ask(std::shared_ptr<const xds_filter> filter) {
  if (path_.empty()) {
    path_ = of_->request.path;
    sent_ = of_->sent;
  }
  steps_.push_back({{}, {}, {}, std::move(filter)});
}

task<client::prepared> filtered_call::prepare() {
  client::prepared to;
  call_of_client seen(path_, sent_, to.added);
  for (step& each : steps_) {
    if (each.enter) {
      const std::shared_ptr<const void> entered = each.enter();
      if (entered) co_await sleep_for(each.delay);
    }
    if (each.asks) {
      task<status> asking = each.asks->before_call(seen);
      status answer = co_await std::move(asking);
      if (!answer.ok()) each.outcome = std::move(answer);
    }
    if (!each.outcome) continue;
    to.outcome = std::move(each.outcome);
    break;
  }
  co_return to;
}

// The server's address is the one that its route leads to: with a proxy, the connection's peer is another.
void filtered_call::headers_received(metadata& received, const client::call_route& of) {
  if (responses_.empty() || !of.server) return;
  const client::endpoint& where = of.server->where();
  std::vector<net::address> addresses = {where.address()};
  addresses.insert(addresses.end(), where.other_addresses().begin(), where.other_addresses().end());
  for (const auto& each : responses_) each->headers_received(received, addresses, cluster_);
}

}  // namespace coracle::xds
