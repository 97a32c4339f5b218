// Cases about a server's load reports (gRFC A51).
#include "expectations.hpp"
#include "interop_cases.hpp"

#include <coracle/client/pick_policy.hpp>
#include <coracle/rpc/load_report.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <string>

namespace interop {

namespace {

using namespace std::chrono_literals;

pb::TestOrcaReport load(double cpu, double memory, double util) {
  pb::TestOrcaReport report;
  report.set_cpu_utilization(cpu);
  report.set_memory_utilization(memory);
  (*report.mutable_utilization())["util"] = util;
  return report;
}

bool tells(const coracle::load_report& observed, const pb::TestOrcaReport& wanted) {
  coracle::load_report same;
  same.set_cpu_utilization(wanted.cpu_utilization()).set_memory_utilization(wanted.memory_utilization());
  for (const auto& [name, cost] : wanted.request_cost()) same.set_cost(name, cost);
  for (const auto& [name, share] : wanted.utilization()) same.set_utilization(name, share);
  return observed == same;
}

using duplex = coracle::bidi_call<pb::StreamingOutputCallRequest, pb::StreamingOutputCallResponse>;

// Keeps the last report of the one server.
class hearing final : public coracle::client::pick_policy {
 public:
  using last_report = std::optional<coracle::load_report>;
  explicit hearing(std::shared_ptr<last_report> to) noexcept : to_(std::move(to)) {}
  std::size_t pick(std::span<const coracle::client::pick_candidate>,
                   const coracle::client::pick_info&) override {
    return 0;
  }
  [[nodiscard]] std::optional<coracle::duration> load_interval() const override { return 50ms; }
  void load_reported(const coracle::client::pick_candidate&, const coracle::load_report& load) override {
    *to_ = load;
  }

 private:
  std::shared_ptr<last_report> to_;
};

coracle::task<> sets_and_hears(duplex& call, const hearing::last_report& last,
                               const pb::TestOrcaReport& wanted) {
  auto request = duplex_request(0, 1);
  *request.mutable_orca_oob_report() = wanted;
  (co_await call.write(request)).throw_if_error();
  const auto response = (co_await call.next()).value();
  require(response.has_value(), "no response came");
  for (auto waited = 0ms; waited < patience; waited += 10ms) {
    if (last && tells(*last, wanted)) co_return;
    co_await coracle::sleep_for(10ms);
  }
  require(false, "the report did not come");
}

}  // namespace

coracle::task<> orca_per_rpc(session& at) {
  const stub test(at.channel());
  pb::SimpleRequest request;
  auto& wanted = *request.mutable_orca_per_query_report();
  wanted = load(0.8210, 0.5847, 0.30499);
  (*wanted.mutable_request_cost())["cost"] = 3456.32;
  auto call = test.UnaryCall(request, coracle::within(patience));
  const auto reply = co_await call;
  require_code(reply.status(), coracle::status_code::ok);
  const auto observed = coracle::load_report::of_call(call.trailing_metadata());
  require(observed && tells(*observed, wanted), "the trailers tell another load, or none");
}

coracle::task<> orca_oob(session& at) {
  const auto last = std::make_shared<hearing::last_report>();
  coracle::channel_options options;
  options.balance = coracle::balancing::by([last](std::uint64_t) { return std::make_unique<hearing>(last); });
  const stub test(at.make_channel(options));
  auto call = test.FullDuplexCall(coracle::within(patience));
  co_await sets_and_hears(call, *last, load(0.8210, 0.5847, 0.30499));
  co_await sets_and_hears(call, *last, load(0.29309, 0.2, 0.2039));
  const auto status = co_await call.finish();
  require_code(status, coracle::status_code::ok);
}

}  // namespace interop
