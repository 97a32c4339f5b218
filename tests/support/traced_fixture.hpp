// traced_fixture: an echo_fixture whose server and channel record traces, for tests of what they record.
#pragma once

#include "coracle/telemetry/memory_span_sink.hpp"
#include "coracle/telemetry/telemetry.hpp"
#include "support/echo_fixture.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace coracle::testing_support {

class traced_fixture : public echo_fixture {
 protected:
  void SetUp() override {
    if (!world_.get()) GTEST_SKIP() << world_.missing();
    telemetry_.emplace(rt());
    telemetry_->add_span_sink(sink_);
    start({});
  }
  // Traces with these options. The server and the channel are new.
  void start(const trace_options& options, const channel_options& of_channel = {}) {
    channel_.reset();
    server_.reset();
    telemetry_->trace(with_defaults(options));
    server_.emplace(rt());
    server_->add(served());
    telemetry_->observe(*server_);
    ASSERT_EQ(server_->listen("127.0.0.1:0", insecure()), status());
    address_ = tcp_address();
    channel_.emplace(rt(), address_, insecure(), of_channel);
  }
  // Environment variables of the user who runs the tests decide nothing.
  static trace_options with_defaults(trace_options o) {
    if (!o.sample) o.sample = sampler::parent_based(sampler::always_on());
    if (!o.propagators) o.propagators = propagator_set();
    if (!o.conventions) o.conventions = rpc_conventions::grpc;
    return o;
  }
  // What has ended. The end of a call may reach the server's observer after the reply has reached the client.
  std::vector<finished_span> spans(std::size_t at_least) {
    std::vector<finished_span> all;
    for (int i = 0; i < 1000 && (i == 0 || all.size() < at_least); ++i) {
      run(flush(*telemetry_));
      for (finished_span& s : sink_->take_spans()) all.push_back(std::move(s));
    }
    EXPECT_GE(all.size(), at_least);
    return all;
  }
  static task<> flush(const telemetry& t) {
    co_await t.flush_spans();
    co_await sleep_for(std::chrono::milliseconds(1));
  }
  static std::vector<const finished_span*> find_all(const std::vector<finished_span>& in,
                                                    std::string_view name) {
    std::vector<const finished_span*> found;
    for (const finished_span& s : in)
      if (s.name == name) found.push_back(&s);
    return found;
  }
  // The only span with this name.
  static const finished_span& only(const std::vector<finished_span>& in, std::string_view name) {
    static const finished_span none;
    const auto found = find_all(in, name);
    EXPECT_EQ(found.size(), 1U) << name;
    return found.empty() ? none : *found.front();
  }
  static std::string text_of(const finished_span& s, std::string_view key) {
    const attribute_value* const v = s.find(key);
    return v && std::holds_alternative<std::string>(*v) ? std::get<std::string>(*v) : "(none)";
  }
  static std::int64_t number_of(const attribute_list& of, std::string_view key) {
    const auto at = std::ranges::find(of, key, &attribute_list::value_type::first);
    return at != of.end() && std::holds_alternative<std::int64_t>(at->second)
               ? std::get<std::int64_t>(at->second)
               : -1;
  }
  static std::vector<std::string> event_names(const finished_span& s) {
    std::vector<std::string> names;
    for (const span_event& e : s.events) names.push_back(e.name);
    return names;
  }

  std::shared_ptr<memory_span_sink> sink_ = std::make_shared<memory_span_sink>();
  std::optional<telemetry> telemetry_;
};

}  // namespace coracle::testing_support
