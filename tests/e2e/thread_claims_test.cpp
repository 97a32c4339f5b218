// What the public headers of servers, channels and what surrounds them claim about threads. Several plain
// threads make each such call at once while calls run on two loops; no call may be lost, and what is counted
// is right in the end. ThreadSanitizer runs these tests, too.
//
//   client/channel_handle.hpp     its making, calls by sync_wait(), state(), connect(), its end
//   client/channel_pool.hpp       everything
//   client/retry_budget.hpp       everything, shared by two channels
//   client/single_flight.hpp, client/client_faults.hpp, server/server_faults.hpp  one for all loops
//   server/rate_limit.hpp         one for the calls of all loops
//   client/idempotency_keys.hpp, server/idempotency.hpp  one, and its store, for all loops
//   client/resolver.hpp           manual_resolver::set()
//   client/service_config.hpp     copies share what was parsed
//   security/auth_context.hpp          any thread reads it
//   security/security.hpp              reload(), while every loop makes connections
//   client/start.hpp              start() of calls and of their operations
//   rpc/recorder.hpp                   write_recording(), record_crashes(), a recording of one's own
//   client/impl/call_channel.hpp, client/sync_wait.hpp  blocking calls of plain threads
//   server/audit_logger.hpp       log() on all loops; register_audit_logger() while policies are read
//   server/authorization_policy.hpp  parse(); one policy for calls of all loops, of a file that changes
//   server/call_statistics.hpp       last_second()
//   server/server_interceptor.hpp, client/client_interceptor.hpp  one object for the calls of all loops
//   server/service.hpp               service_host::services(); draining() once, on any thread
//   server/memory_quota.hpp       everything
//   server/server.hpp             every member; snapshot() and drain() on any runtime's loop
//   server/load_reporter.hpp      everything, while calls report the load
//   services/health_service.hpp   set_status()
//   testing/fake_method.hpp       everything: in service_fixture_test.cpp
//
// tests/unit/runtime/thread_claims_test.cpp has what is below these rooms.
#include "grpc/health/v1/health.coracle.hpp"
#include "support/at_once.hpp"
#include "support/borrowed.hpp"
#include "support/certificates.hpp"
#include "support/echo_service.hpp"
#include "support/every_backend.hpp"
#include "support/kept_log.hpp"
#include "unit/net/scratch_folder.hpp"

#include "coracle/client/channel_pool.hpp"
#include "coracle/client/client_faults.hpp"
#include "coracle/client/client_interceptor.hpp"
#include "coracle/client/idempotency_keys.hpp"
#include "coracle/client/resolver.hpp"
#include "coracle/client/single_flight.hpp"
#include "coracle/client/start.hpp"
#include "coracle/rpc/recorder.hpp"
#include "coracle/server/audit_logger.hpp"
#include "coracle/server/authorization_policy.hpp"
#include "coracle/server/call_statistics.hpp"
#include "coracle/server/idempotency.hpp"
#include "coracle/server/load_reporter.hpp"
#include "coracle/server/memory_quota.hpp"
#include "coracle/server/server_faults.hpp"
#include "coracle/services/health_service.hpp"

#include <gtest/gtest.h>

#include <unistd.h>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace coracle::testing_support::thread_claims_test {
namespace {

using namespace std::chrono_literals;
using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;
using health_stub = grpc::health::v1::rpc::Health::stub;

constexpr int threads = 4;
constexpr int rounds = 25;  // of each thread

echo::Text text(const std::string& text) {
  echo::Text t;
  t.set_text(text);
  return t;
}
std::string say(const channel& by, const std::string& content) {
  const auto reply = sync_wait(echo_stub(by).Say(text(content)));
  return reply ? reply->text() : reply.status().to_string();
}

class thread_claims : public every_backend {
 protected:
  thread_claims() : every_backend(2) { certificates::made(); }
  void TearDown() override {
    channel_.reset();
    server_.reset();
  }
  void serve(const server_options& o = {}, const server_credentials& credentials = insecure(),
             const std::vector<std::shared_ptr<server_interceptor>>& around = {}) {
    server_.emplace(rt(), o);
    server_->add(echo_);
    for (const auto& i : around) server_->add_interceptor(i);
    ASSERT_EQ(server_->listen("127.0.0.1:0", credentials), status());
    channel_.emplace(rt(), address(), insecure());
  }
  [[nodiscard]] std::string address() const { return "127.0.0.1:" + std::to_string(server_->port()); }
  // So many calls by each thread, and no other.
  static void call_at_once(const channel& by) {
    at_once(threads, [&](int thread_index) {
      for (int i = 0; i < rounds; ++i)
        EXPECT_EQ(say(by, std::to_string(thread_index)), std::to_string(thread_index));
    });
  }

  echo_service echo_;
  std::optional<server> server_;
  std::optional<channel> channel_;
};
INSTANTIATE_TEST_SUITE_P(On, thread_claims, kernel_kinds, every_backend::case_name);

class counting final : public client_interceptor, public server_interceptor {
 public:
  task<status> intercept(client_context&, next_call next) override {
    ++before;
    const status s = co_await next();
    ++after;
    co_return s;
  }
  task<status> intercept(server_context&, next_handler next) override {
    ++before;
    const status s = co_await next();
    ++after;
    co_return s;
  }
  std::atomic<int> before{0};
  std::atomic<int> after{0};
};

TEST_P(thread_claims, AServerIsSetUpByAllThreads) {
  for (int round = 0; round < rounds; ++round) {
    std::shared_ptr<counting> around[threads];
    for (auto& one : around) one = std::make_shared<counting>();
    health_service health;
    server s(rt());
    at_once(threads, [&](int thread_index) {
      if (thread_index == 0) s.add(echo_);
      if (thread_index == 1) s.add(health);
      s.add_interceptor(around[thread_index]);
      s.add_interceptor(std::make_shared<counting>());
    });
    channel to(rt(), s.in_process());
    EXPECT_EQ(say(to, "a"), "a");
    for (const auto& c : around) EXPECT_EQ(c->before, 1);
  }
}

TEST_P(thread_claims, AServerListensForAllThreads) {
  server_.emplace(rt());
  server_->add(echo_);
  std::mutex mutex;
  std::vector<std::shared_ptr<transport::connector>> connectors;
  at_once(threads, [&](int) {
    for (int i = 0; i < 4; ++i) {
      EXPECT_EQ(server_->listen("127.0.0.1:0", insecure()), status());
      EXPECT_NE(server_->port(), 0);
      EXPECT_FALSE(server_->listen("nowhere", insecure()).ok());
      EXPECT_EQ(&server_->owner(), &rt());
      server_->start();
      auto made = server_->in_process();
      const std::lock_guard lock(mutex);
      connectors.push_back(std::move(made));
    }
  });
  const server_snapshot now = sync_wait(rt(), server_->snapshot());
  EXPECT_EQ(now.listeners.size(), std::size_t{threads * 4});
  std::set<std::uint16_t> ports;
  for (const listener_snapshot& l : now.listeners) ports.insert(l.local.port());
  EXPECT_EQ(ports.size(), now.listeners.size());
  EXPECT_TRUE(ports.contains(server_->port()));
  for (const std::uint16_t port : ports) {
    channel to(rt(), "127.0.0.1:" + std::to_string(port), insecure());
    EXPECT_EQ(say(to, "a"), "a");
  }
  for (const auto& to_server : connectors) {
    channel to(rt(), to_server);
    EXPECT_EQ(say(to, "b"), "b");
  }
}

TEST_P(thread_claims, AServerIsReloadedByAllThreadsWhileItServes) {
  serve();
  at_once(threads, [&](int thread_index) {
    for (int i = 0; i < rounds; ++i) {
      server_options o;
      if (thread_index % 2 == 0) o.limits.calls = 100;
      o.rate_limits = {rate_limit(1e6, 1e6)};
      if (i % 2 == 0) o.protect();
      server_->reload(o);
      EXPECT_EQ(say(*channel_, "a"), "a");
    }
  });
  server_options none;
  none.limits.calls = 0;
  server_->reload(none);
  std::string answer = "a";
  for (int i = 0; answer == "a" && i < 10'000; ++i)
    answer = say(*channel_, "a");  // the loop hears of it soon
  EXPECT_EQ(answer, "UNAVAILABLE: server_limits::calls exceeded, limit 0");
}

// Keeps the host's book, and how often it was told of a drain.
class told_service final : public echo_service {
 public:
  void added_to(const service_host& host) override { host_ = &host; }
  void draining() noexcept override { ++drains; }
  [[nodiscard]] std::size_t beside() const { return host_.load()->services().size(); }
  std::atomic<int> drains{0};

 private:
  std::atomic<const service_host*> host_{nullptr};
};

TEST_P(thread_claims, AServerIsLookedAtStoppedAndDrainedByAllThreads) {
  runtime others(runtime_options{.loops = 2, .backend = or_what_is_left(backend_choice::epoll)});
  for (int round = 0; round < 5; ++round) {
    told_service told;
    server s(rt());
    s.add(told);
    ASSERT_EQ(s.listen("127.0.0.1:0", insecure()), status());
    s.start();
    at_once(threads, [&](int thread_index) {
      channel own(others, "127.0.0.1:" + std::to_string(s.port()), insecure());
      for (int i = 0; i < rounds; ++i) {
        EXPECT_EQ(say(own, "c"), "c");
        EXPECT_GT(sync_wait(thread_index % 2 == 0 ? rt() : others, s.snapshot()).calls_started, 0u);
        EXPECT_EQ(told.beside(), 1u);
      }
    });
    EXPECT_EQ(sync_wait(others, s.snapshot()).calls_started, std::uint64_t{threads * rounds});
    at_once(threads, [&](int thread_index) {
      if (thread_index == 0) s.stop();
      sync_wait(thread_index % 2 == 0 ? rt() : others, s.drain(20s));
    });
    EXPECT_EQ(told.drains, 1);
  }
}

TEST_P(thread_claims, AMemoryQuotaOfTwoServersIsZeroWhenTheyHaveGone) {
  const memory_quota quota(64u << 20);
  server_options limited;
  limited.memory = quota;
  std::optional<server> other(std::in_place, rt(), limited);
  other->add(echo_);
  ASSERT_EQ(other->listen("127.0.0.1:0", insecure()), status());
  serve(limited);
  at_once(threads, [&](int thread_index) {
    const memory_quota mine = quota;
    const std::uint16_t port = thread_index % 2 == 0 ? server_->port() : other->port();
    channel to(rt(), "127.0.0.1:" + std::to_string(port), insecure());
    const std::string large(100'000, 'x');
    for (int i = 0; i < rounds; ++i) {
      EXPECT_EQ(say(to, large), large);
      EXPECT_LT(mine.used_bytes(), mine.limit_bytes());
    }
  });
  channel_.reset();
  server_.reset();
  other.reset();
  EXPECT_EQ(quota.used_bytes(), 0u);
}

TEST_P(thread_claims, StatisticsCountTheCallsOfAllLoops) {
  kept_log log;
  log.set_min_level(log_level::info);
  auto statistics = std::make_shared<call_statistics>(log);
  {
    server s(rt());
    s.add(echo_);
    s.add_interceptor(statistics);
    ASSERT_EQ(s.listen("127.0.0.1:0", insecure()), status());
    at_once(threads, [&](int) {
      channel to(rt(), "127.0.0.1:" + std::to_string(s.port()), insecure());  // on either loop of the server
      for (int i = 0; i < rounds; ++i) {
        EXPECT_EQ(say(to, "d"), "d");
        if (const auto last = statistics->last_second()) {
          EXPECT_GT(last->count, 0u);
        }
      }
    });
  }
  statistics.reset();  // and the last line is written
  std::istringstream lines(log.text());
  int calls = 0;
  for (std::string line; std::getline(lines, line);) calls += std::stoi(line.substr(line.find('=') + 1));
  EXPECT_EQ(calls, threads * rounds);
}

TEST_P(thread_claims, HealthIsSetByAllThreadsWhileOthersAskAndWatch) {
  health_service health;
  server s(rt());
  s.add(health);
  ASSERT_EQ(s.listen("127.0.0.1:0", insecure()), status());
  channel to(rt(), "127.0.0.1:" + std::to_string(s.port()), insecure());
  const health_stub stub(to);
  const auto named = [](int thread_index) {
    HealthCheckRequest r;
    r.set_service("service" + std::to_string(thread_index));
    return r;
  };
  at_once(2 * threads, [&](int thread_index) {
    if (thread_index < threads) {
      const std::string mine = named(thread_index).service();
      for (int i = 0; i < rounds; ++i) {
        health.set_status(mine, i % 2 == 0 ? health_status::serving : health_status::not_serving);
        health.set_status("", i % 3 == 0 ? health_status::not_serving : health_status::serving);
      }
      health.set_status(mine, health_status::unknown);
      const auto reply = sync_wait(stub.Check(named(thread_index)));
      EXPECT_TRUE(reply && reply->status() == HealthCheckResponse::UNKNOWN);
      return;
    }
    const HealthCheckRequest request = named(thread_index - threads);
    auto watch = stub.Watch(request);
    for (auto state = HealthCheckResponse::SERVING; state != HealthCheckResponse::UNKNOWN;) {
      const auto next = sync_wait(watch.next()).value();
      ASSERT_TRUE(next);
      state = next->status();
    }
  });
}

TEST_P(thread_claims, AChannelIsMadeUsedAndEndedByAnyThread) {
  serve();
  at_once(threads, [&](int thread_index) {
    for (int i = 0; i < rounds; ++i) {
      channel own(rt(), address(), insecure());
      own.connect();
      if (i % 2 == 0) {
        EXPECT_EQ(say(own, std::to_string(thread_index)), std::to_string(thread_index));
      }
    }
    channel apart(address(), insecure());  // on a runtime of its own
    EXPECT_EQ(say(apart, "e"), "e");
  });
}

TEST_P(thread_claims, OneChannelServesAllThreadsUntilOneOfThemEndsIt) {
  serve();
  std::optional<channel> shared(std::in_place, rt(), address(), insecure());
  at_once(threads, [&](int thread_index) {
    for (int i = 0; i < rounds; ++i) {
      shared->connect();
      EXPECT_NE(shared->state(), connectivity::shutdown);
      EXPECT_EQ(say(*shared, std::to_string(thread_index)), std::to_string(thread_index));
      auto chat = echo_stub(*shared).Chat();
      for (int n = 0; n < 3; ++n) {
        sync_wait(chat.write(text(std::to_string(n)))).throw_if_error();
        const auto back = sync_wait(chat.next()).value();
        EXPECT_TRUE(back && back->text() == std::to_string(n));
      }
      sync_wait(chat.writes_done());
      EXPECT_FALSE(sync_wait(chat.next()).value());
      EXPECT_EQ(sync_wait(chat.finish()), status());
    }
  });
  // Waits that begin on all loops and end with the channel.
  std::vector<task<bool>> waits;
  for (int thread_index = 0; thread_index < threads; ++thread_index)
    waits.push_back(shared->wait_for_state_change(shared->state()));
  at_once(threads + 1, [&](int thread_index) {
    if (thread_index == threads) return shared->close();
    const auto at = static_cast<std::size_t>(thread_index);
    EXPECT_TRUE(sync_wait(rt(), rt().at(at % 2), std::move(waits[at])));
  });
}

TEST_P(thread_claims, APoolGivesAllThreadsOneChannel) {
  serve();
  for (int round = 0; round < rounds; ++round) {
    channel_pool pool(rt());
    std::vector<channel> got(threads);
    at_once(threads, [&](int thread_index) {
      auto& mine = got[static_cast<std::size_t>(thread_index)];
      mine = pool.get(address(), insecure());
      EXPECT_EQ(mine, pool.get(address(), insecure()));
      EXPECT_NE(mine, pool.get("127.0.0.1:1", insecure()));
      EXPECT_EQ(say(mine, "f"), "f");
      EXPECT_LE(pool.size(), 2u);
    });
    EXPECT_EQ(pool.size(), 2u);
    for (const channel& one : got) EXPECT_EQ(one, got.front());
  }
}

class naming final : public echo_service {
 public:
  explicit naming(std::string name) : name_(std::move(name)) {}
  coracle::reply<echo::Text> Say(server_context&, const echo::Text&) override { co_return text(name_); }

 private:
  const std::string name_;
};

TEST_P(thread_claims, AResolverIsToldByAllThreads) {
  naming a("a");
  naming b("b");
  server of_a(rt());
  server of_b(rt());
  of_a.add(a);
  of_b.add(b);
  for (server* s : {&of_a, &of_b}) ASSERT_EQ(s->listen("127.0.0.1:0", insecure()), status());
  const auto at = [](const server& s) {
    return client::resolution().add(*net::address::parse("127.0.0.1:" + std::to_string(s.port())));
  };
  const auto names = std::make_shared<client::manual_resolver>(at(of_a));
  channel_options options;
  options.resolver = names;
  channel to(rt(), "wherever", insecure(), options);
  at_once(threads, [&](int thread_index) {
    for (int i = 0; i < rounds; ++i) {
      names->set(at((thread_index + i) % 2 == 0 ? of_a : of_b));
      const std::string by = say(to, "");
      EXPECT_TRUE(by == "a" || by == "b") << by;
    }
  });
  for (const server* last : {&of_a, &of_b}) {
    names->set(at(*last));
    while (say(to, "") != (last == &of_a ? "a" : "b")) {
    }
  }
}

TEST_P(thread_claims, InterceptorsStandAroundTheCallsOfAllThreads) {
  counting served;
  counting called;
  {
    server s(rt());
    s.add(echo_);
    s.add_interceptor(borrowed(served));
    ASSERT_EQ(s.listen("127.0.0.1:0", insecure()), status());
    channel inner(rt(), "127.0.0.1:" + std::to_string(s.port()), insecure());
    const channel guarded = inner.with_interceptors({borrowed(called)});
    call_at_once(guarded);
  }
  for (const counting* c : {&served, &called}) {
    EXPECT_EQ(c->before, threads * rounds);
    EXPECT_EQ(c->after, threads * rounds);
  }
}

// Counts decisions of all loops.
class counting_decisions final : public audit_logger {
 public:
  void log(const audit_event& event) override { ++(event.authorized ? admitted : rejected); }
  std::atomic<int> admitted{0};
  std::atomic<int> rejected{0};
};

TEST_P(thread_claims, CallsOfAllThreadsAreSharedAndDelayed) {
  fault_options slow;
  slow.delay = 1ms;
  slow.delayed = 0.5;
  serve({}, insecure(), {server_faults(slow)});
  const channel shared = channel_->with_interceptors({single_flight({"/echo.Echo/"}), client_faults(slow)});
  at_once(threads, [&](int thread_index) {
    for (int i = 0; i < rounds; ++i) {
      const std::string content = std::to_string((thread_index + i) % 2);
      EXPECT_EQ(say(shared, content), content);
    }
  });
}

TEST_P(thread_claims, CallsOfAllThreadsRunOnce) {
  const auto handled = std::make_shared<counting>();
  serve({}, insecure(), {idempotent_calls(memory_idempotency_store(), {"/echo.Echo/"}), handled});
  at_once(threads, [&](int) {
    for (int i = 0; i < rounds; ++i) {
      call_options with;
      with.add_metadata("idempotency-key", std::to_string(i));
      const auto reply = sync_wait(echo_stub(*channel_).Say(text("x"), with));
      EXPECT_TRUE(reply.ok()) << reply.status();
    }
  });
  EXPECT_EQ(handled->before, rounds);
  const channel keyed = channel_->with_interceptors({idempotency_keys({"/echo.Echo/"})});
  call_at_once(keyed);
  EXPECT_EQ(handled->after, rounds + threads * rounds);
}

TEST_P(thread_claims, ARateLimitIsOneForAllLoops) {
  constexpr int burst = 30;
  rate_limit for_all(1e-3, burst);
  rate_limit for_each(1e-3, burst);
  for_each.per = rate_limit::caller::client;
  server_options options;
  options.rate_limits = {for_all, for_each};
  serve(options);
  std::atomic<int> accepted{0};
  at_once(threads, [&](int) {
    for (int i = 0; i < rounds; ++i) {
      const channel own(rt(), address(), insecure());  // its connection may be on another loop
      accepted += say(own, "x") == "x";
    }
  });
  EXPECT_EQ(accepted, burst);
}

TEST_P(thread_claims, ABudgetPaysTheRetriesOfAllThreads) {
  fault_options failing;
  failing.abort = status::unavailable("as planned");
  const auto attempts = std::make_shared<counting>();
  serve({}, insecure(), {attempts, server_faults(failing)});
  constexpr int reserve = 10;
  channel_options options;
  options.retry_budget = std::make_shared<retry_budget>(0, reserve);
  options.service_config = service_config::parse(R"({"methodConfig": [{"name": [{}], "retryPolicy": {
    "maxAttempts": 2, "initialBackoff": "0.001s", "maxBackoff": "0.001s", "backoffMultiplier": 1,
    "retryableStatusCodes": ["UNAVAILABLE"]}}]})")
                               .value();
  const channel one(rt(), address(), insecure(), options);
  const channel other(rt(), address(), insecure(), options);
  at_once(threads, [&](int thread_index) {
    for (int i = 0; i < rounds; ++i) EXPECT_NE(say(thread_index % 2 ? one : other, "x"), "x");
  });
  EXPECT_EQ(attempts->before, threads * rounds + reserve);
  EXPECT_EQ(options.retry_budget->available(), 0u);
}

TEST_P(thread_claims, APolicyOfAFileAdmitsTheCallsOfAllThreadsWhileItChanges) {
  const auto decisions = std::make_shared<counting_decisions>();
  const auto counted = [decisions](std::string_view) -> result<std::shared_ptr<audit_logger>> {
    return decisions;
  };
  register_audit_logger("counting", counted);
  const std::string json =
      R"({"name":"p","allow_rules":[{"name":"r","request":{"paths":["*/Say"]}}],"audit_logging_options":
         {"audit_condition":"ON_DENY_AND_ALLOW","audit_loggers":[{"name":"counting"}]}})";
  const net::scratch_folder folder;
  const std::string file = folder / "policy.json";
  const auto put = [&](const std::string& text) {
    std::ofstream(file + ".new", std::ios::binary) << text;
    std::filesystem::rename(file + ".new", file);
  };
  put(json);
  std::atomic<bool> read_again{false};
  server s(rt());
  s.add(echo_);
  authorization_file_options how;
  how.interval = authorization_file_options::interval_min;
  how.on_update = [&](const authorization_policy&) { read_again = true; };
  ASSERT_EQ(authorize_by_file(s, file, how), status());
  ASSERT_EQ(s.listen("127.0.0.1:0", insecure()), status());
  const channel by(rt(), "127.0.0.1:" + std::to_string(s.port()), insecure());
  put(json + " ");
  int calls = 0;
  do {
    call_at_once(by);
    calls += threads * rounds;
  } while (!read_again);
  at_once(threads, [&](int i) {
    for (int n = 0; n < rounds; ++n) {
      register_audit_logger("counting " + std::to_string(i), counted);
      EXPECT_EQ(authorization_policy::parse(json).status(), status());
    }
  });
  EXPECT_EQ(decisions->admitted, calls);
  EXPECT_EQ(decisions->rejected, 0);
}

// Keeps what it knows of its callers.
class acquainted final : public echo_service {
 public:
  coracle::reply<echo::Text> Say(server_context& context, const echo::Text& request) override {
    {
      const std::lock_guard lock(mutex_);
      known_ = context.auth()->shared_from_this();
    }
    co_return request;
  }
  [[nodiscard]] std::shared_ptr<const auth_context> known() const {
    const std::lock_guard lock(mutex_);
    return known_;
  }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const auth_context> known_;
};

TEST_P(thread_claims, CertificatesAreReadAnewByAllThreadsWhileConnectionsAreMade) {
  tls::server_options credentials = served_as("server");
  credentials.client_cas.push_back(tls::pem_source::file(certificate("ca.pem")));
  const auto serving = credentials.build().value();
  tls::client_options credentials_2 = trusting("ca");
  credentials_2.certificate = pair_of("client");
  const auto calling = credentials_2.build().value();
  acquainted service;
  server s(rt());
  s.add(service);
  ASSERT_EQ(s.listen("127.0.0.1:0", serving), status());
  at_once(threads, [&](int thread_index) {
    for (int i = 0; i < rounds / 5; ++i) {
      EXPECT_EQ(thread_index % 2 == 0 ? serving->reload() : calling->reload(), status());
      channel to(rt(), "127.0.0.1:" + std::to_string(s.port()), calling);
      EXPECT_EQ(say(to, "g"), "g");
      const auto who_called = service.known();
      EXPECT_TRUE(who_called->peer_verified());
      EXPECT_EQ(who_called->application_protocol(), "h2");
      EXPECT_FALSE(who_called->identities().empty());
    }
  });
}

TEST_P(thread_claims, CallsAreStartedAndTheirObjectsDestroyedByAllThreads) {
  serve();
  channel to(rt(), address(), insecure());
  std::atomic<int> ended{0};
  at_once(threads, [&](int) {
    const channel mine = to;
    for (int i = 0; i < rounds; ++i) {
      start(echo_stub(mine).Say(text("j")), [&](outcome<result<echo::Text>> o) {
        EXPECT_EQ(o.value()->text(), "j");
        ++ended;
      }).detach();
      auto chat = echo_stub(mine).Chat();
      start(chat.write(text("k")), [&](const outcome<status>&) { ++ended; }).detach();
      start(chat.next(), [&](const outcome<result<std::optional<echo::Text>>>&) { ++ended; }).detach();
    }
  });
  rt().run();
  EXPECT_EQ(ended, 3 * threads * rounds);
}

TEST_P(thread_claims, ALoadIsSetAndReadByAllThreadsWhileCallsReportIt) {
  const auto load = std::make_shared<load_reporter>();
  load->measure_calls();
  echo_service service;
  server_options options;
  options.load = load;
  server s(rt(), options);
  s.add(service);
  ASSERT_EQ(s.listen("127.0.0.1:0", insecure()), status());
  at_once(threads, [&](int thread_index) {
    channel to(rt(), "127.0.0.1:" + std::to_string(s.port()), insecure());
    const std::string name = std::to_string(thread_index);
    for (int i = 0; i < rounds; ++i) {
      load->update([&](load_report& r) { r.set_metric(name, i); });
      load->measure_calls();
      EXPECT_EQ(load->at(time_point()).metrics().at(name), i);
      EXPECT_EQ(say(to, "l"), "l");
    }
  });
  EXPECT_EQ(load->at(time_point()).metrics().size(), static_cast<std::size_t>(threads));
}

TEST_P(thread_claims, RecordingsAreTakenByAllThreadsWhileCallsRun) {
  serve();
  at_once(threads, [&](int thread_index) {
    const std::string file = ::testing::TempDir() + "coracle-claims-" + std::to_string(getpid()) + "-" +
                             std::to_string(thread_index);
    for (int i = 0; i < rounds; ++i) {
      EXPECT_EQ(say(*channel_, "r"), "r");
      EXPECT_EQ(write_recording(rt(), file), status());
      const auto mine = recording::read(file);
      EXPECT_TRUE(mine.ok() && !mine->calls().empty());
      EXPECT_EQ(record_crashes(file), status());
    }
    std::filesystem::remove(file);
  });
}

TEST_P(thread_claims, AServiceConfigIsSharedByChannelsOfAllThreads) {
  serve();
  auto parsed = service_config::parse(
      R"({"methodConfig":[{"name":[{"service":"echo.Echo"}],"timeout":"20s"}],"loadBalancingConfig":[{"round_robin":{}}]})");
  ASSERT_TRUE(parsed) << parsed.status();
  const service_config shared = *std::move(parsed);
  at_once(threads, [&](int) {
    for (int i = 0; i < rounds; ++i) {
      const service_config mine = shared;
      EXPECT_EQ(mine, shared);
      EXPECT_EQ(mine.load_balancing().front().name(), "round_robin");
      channel_options options;
      options.service_config = mine;
      channel to(rt(), address(), insecure(), options);
      EXPECT_EQ(say(to, "h"), "h");
    }
  });
}

}  // namespace
}  // namespace coracle::testing_support::thread_claims_test
