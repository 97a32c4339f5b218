#include "sim/day/node.hpp"

#include <algorithm>
#include <utility>

namespace coracle::day {

namespace {

// A call that has no answer when most have one is made once more, elsewhere, and so is one that was not
// served. With protections, that ends while much fails. A delay is longer than calls of an overloaded layer
// take: otherwise each overload would make more of them.
std::string policies(std::size_t layer, bool protects) {
  constexpr std::array<const char*, layers> delays{"0.6s", "0.5s", "0.4s", "0.3s", "0.22s"};
  return std::string(R"({"methodConfig":[{"name":[{}],"hedgingPolicy":{"maxAttempts":2,"hedgingDelay":")") +
         delays[layer] + R"(","nonFatalStatusCodes":["UNAVAILABLE"]}}])" +
         (protects ? R"(,"retryThrottling":{"maxTokens":20,"tokenRatio":0.1}})" : "}");
}

}  // namespace

channel_options callers::options(const common& c, std::size_t layer) {
  channel_options o;
  o.balance = balancing::least_request();
  o.service_config = service_config::parse(policies(layer, c.protects)).value();
  if (!c.protects) return o;
  o.throttling = true;
  o.keepalive = {.time = 10s, .timeout = 1s, .without_calls = true};
  outlier_detection_options outliers;
  outliers.interval = 1s;
  outliers.base_ejection_time = 15s;
  outliers.max_ejection_time = 30s;
  outliers.max_ejection_percent = 25;
  outliers.failure_percentage_ejection = {.threshold = 95, .minimum_hosts = 2, .request_volume = 5};
  o.balance = balancing::outlier_detection(outliers, balancing::least_request());
  return o;
}

callers::callers(common& c, runtime& rt, std::size_t layer,
                 const std::vector<std::vector<net::address>>& servers)
    : common_(c), layer_(layer) {
  channel_options with = options(c, layer);
  for (const auto& one : servers) {
    client::resolution all;
    for (const net::address& a : one) all.add(a);
    with.resolver = std::make_shared<client::manual_resolver>(std::move(all));
    channels_.emplace_back(rt, "service", insecure(), with);
  }
}

task<status> callers::call(std::size_t service) const {
  const echo::rpc::Echo::stub stub(channels_[service % channels_.size()]);
  const echo::Text request;
  call_options options = within(patience);
  // Without protections, a handler goes on when its caller has gone.
  options.detached = !common_.protects;
  const time_point began = coro::this_executor().now();
  auto call = stub.Say(request, options);
  const auto reply = co_await call;
  if (cell* const c = common_.numbers.at(layer_, began))
    c->count(reply.status(), coro::this_executor().now() - began);
  co_return reply.status();
}

node::life::life(node& n, runtime& rt, const std::vector<std::vector<net::address>>* below)
    : on(rt), service(n) {
  if (below) next.emplace(n.common_, rt, n.layer_ + 1, *below);
}

void node::start(runtime& rt, const std::vector<std::vector<net::address>>* below) {
  free_at_ = {};
  life_ = std::make_unique<life>(*this, rt, below);
  listen();
}

void node::listen() {
  server_options options;
  if (common_.protects) options.protect();
  options.drain_grace = patience;
  options.client_pings = {.min_interval = 5s, .without_calls = true};
  life_->srv.emplace(life_->on, options);
  life_->srv->add(life_->service);
  listens_ = life_->srv->listen("0.0.0.0:" + std::to_string(port_of(service_)), insecure()).ok();
}

void node::stop_server() {
  listens_ = false;
  life_->srv->stop();
}

void node::restart_server(bool bad) {
  life_->srv.reset();
  bad_ = bad;
  listen();
}

double node::capacity() const noexcept {
  return life_ && listens_ && !bad_ ? calls_per_second(layer_) / slowdown_ : 0;
}

time_point node::finish_of_next(time_point now) noexcept {
  time_point& first = *std::min_element(free_at_.begin(), free_at_.end());
  // Half of the mean to one and a half.
  const duration takes = (work[layer_] / 2 + draws_.up_to(work[layer_])) * slowdown_;
  return first = std::max(now, first) + takes;
}

reply<echo::Text> node::calls_service::Say(server_context&, const echo::Text& request) {
  if (node_.bad_) co_return status::internal("a defect of the new release");
  const time_point now = coro::this_executor().now();
  co_await sleep_for(node_.finish_of_next(now) - now);  // sleeps on purpose: virtual time
  const std::optional<callers>& next = node_.life_->next;
  if (!next) co_return request;
  const status outcome = co_await next->call(node_.service_ + node_.draws_.below(2));
  if (!outcome.ok()) co_return outcome;
  co_return request;
}

}  // namespace coracle::day
