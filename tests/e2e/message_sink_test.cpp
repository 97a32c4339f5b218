// message_sink: what its function gets, and what becomes of a call whose function fails, with and without
// interceptors, on both sides.
#include "support/echo_fixture.hpp"

#include "coracle/client/client_interceptor.hpp"
#include "coracle/client/generic_stub.hpp"
#include "coracle/rpc/message_sink.hpp"
#include "coracle/server/server_interceptor.hpp"

#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace coracle::testing_support::message_sink_test {
namespace {

using texts = std::vector<std::string>;

// Functions of a sink, which note the text of each message.
bool keep(void* to, bytes_view bytes) {
  echo::Text one;
  EXPECT_TRUE(one.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())));
  static_cast<texts*>(to)->push_back(one.text());
  return true;
}
bool refuse(void* to, bytes_view bytes) { return !keep(to, bytes); }
bool exhaust(void* to, bytes_view bytes) {
  keep(to, bytes);
  throw std::bad_alloc();
}

// A function that fails, and the status of its call.
const std::pair<message_sink::function, status_code> failing_functions[] = {
    {refuse, status_code::internal}, {exhaust, status_code::resource_exhausted}};

// Small ones are read from the frame that they come in, large ones come in several.
const std::string message_texts[] = {"small", std::string(100'000, 'x')};

// What an interceptor does with the messages that are read by a sink.
using look = std::function<status(intercepted_message&)>;
class client_passing final : public client_interceptor {
 public:
  explicit client_passing(look f) : hooks_(std::make_shared<hooks>(std::move(f))) {}
  task<status> intercept(client_context&, next_call next) override { co_return co_await next(hooks_); }

 private:
  struct hooks final : message_hooks {
    explicit hooks(look f) : with(std::move(f)) {}
    status on_reply(intercepted_message& m) override { return with(m); }
    look with;
  };
  std::shared_ptr<message_hooks> hooks_;
};
class server_passing final : public server_interceptor {
 public:
  explicit server_passing(look f) : hooks_(std::make_shared<hooks>(std::move(f))) {}
  task<status> intercept(server_context&, next_handler next) override { co_return co_await next(hooks_); }

 private:
  struct hooks final : message_hooks {
    explicit hooks(look f) : with(std::move(f)) {}
    status on_request(intercepted_message& m) override { return with(m); }
    look with;
  };
  std::shared_ptr<message_hooks> hooks_;
};

// Reads its requests by a sink, and counts them.
class sinking final : public service {
 public:
  reply<echo::Text> Take(server_context&, reader<message_sink> requests) {
    message_sink into(&taken, function);
    echo::Text count;
    while (co_await requests.read(into)) count.set_count(count.count() + 1);
    co_return count;
  }
  [[nodiscard]] method_table methods() const noexcept override {
    static constexpr method table[] = {client_streaming_method<&sinking::Take>("/sinks.Sinks/Take")};
    return table;
  }
  message_sink::function function = keep;
  texts taken;
};

// A client that reads by a sink, and a server that does.
enum class side { client, server };
constexpr auto sides = {side::client, side::server};

class message_sinks : public echo_fixture {
 protected:
  void TearDown() override {
    front_.reset();
    echo_fixture::TearDown();
  }
  // Messages pass `f` on the side that reads by a sink.
  void serve(side of, const look& f) {
    front_.reset();
    channel_.reset();
    server_.emplace(rt());
    server_->add(service_);
    server_->add(sinking_);
    if (of == side::server && f) server_->add_interceptor(std::make_shared<server_passing>(f));
    link();
    front_ = *channel_;
    if (of == side::client && f) front_ = channel_->with_interceptors({std::make_shared<client_passing>(f)});
  }
  // What a call ended with, and its connection.
  struct outcome {
    outcome() = default;
    status end;
    std::shared_ptr<const connection_peer> peer;
  };
  // Has a call of three messages read by `function`, which fills taken().
  outcome call(side of, message_sink::function function, const std::string& content) {
    taken().clear();
    generic_stub any(*front_);
    sinking_.function = function;
    return of == side::client ? run(read(any, message_sink(&taken(), function), text(content, 3)))
                              : run(write(any, text(content)));
  }
  texts& taken() noexcept { return sinking_.taken; }

 private:
  static task<outcome> read(generic_stub any, message_sink into, echo::Text request) {
    outcome seen;
    auto repeating = any.server_streaming<message_sink>("/echo.Echo/Repeat", request);
    for (;;) {
      const auto got = co_await repeating.read(into);
      if (got.ok() && *got) continue;
      seen.end = got.status();
      break;
    }
    EXPECT_EQ(co_await repeating.finish(), seen.end);
    seen.peer = repeating.peer();
    co_return seen;
  }
  static task<outcome> write(generic_stub any, echo::Text request) {
    outcome seen;
    auto taking = any.client_streaming<echo::Text, echo::Text>("/sinks.Sinks/Take");
    for (int i = 0; i < 3; ++i)
      if (const status s = co_await taking.write(request); !s.ok()) break;
    const auto counted = co_await taking.finish();
    EXPECT_TRUE(!counted.ok() || counted->count() == 3);
    seen.end = counted.status();
    seen.peer = taking.peer();
    co_return seen;
  }
  sinking sinking_;
  std::optional<channel> front_;
};
INSTANTIATE_TEST_SUITE_P(Everywhere, message_sinks, every_world_over_tcp, echo_fixture::case_name);

TEST_P(message_sinks, ReadMessagesWhereTheyHaveArrivedOrDropThem) {
  for (const side of : sides) {
    serve(of, nullptr);
    for (const std::string& content : message_texts) {
      EXPECT_EQ(call(of, keep, content).end, status());
      EXPECT_EQ(taken(), texts(3, content));
      EXPECT_EQ(call(of, nullptr, content).end, status());
      EXPECT_EQ(taken(), texts());
    }
  }
  struct program {
    static task<> drop(generic_stub any) {
      const echo::Text request = text("x", 3);
      auto repeating = any.server_streaming<message_sink>("/echo.Echo/Repeat", request);
      int count = 0;
      while ((co_await repeating.next()).value()) ++count;
      EXPECT_EQ(count, 3);
    }
  };
  run(program::drop(generic_stub(*channel_)));
}

TEST_P(message_sinks, EndTheCallAloneWhoseFunctionFails) {
  for (const side of : sides) {
    serve(of, nullptr);
    for (const auto& [function, code] : failing_functions) {
      for (const std::string& content : message_texts) {
        const outcome failed = call(of, function, content);
        EXPECT_EQ(failed.end.code(), code) << failed.end;
        EXPECT_EQ(taken(), texts{content}) << "the function is called once";
        const outcome after = call(of, keep, content);
        EXPECT_EQ(after.end, status());
        EXPECT_EQ(taken(), texts(3, content));
        EXPECT_EQ(after.peer, failed.peer) << "the connection is another one";
      }
    }
  }
}

TEST_P(message_sinks, GetWhatTheInterceptorsHavePassedOn) {
  struct interception {
    const char* what;
    look with;
    texts given;  // for each message
  };
  const std::string other = text("other").SerializeAsString();
  std::size_t before = 0;
  const auto ask = [&](intercepted_message& m) {
    before = taken().size();
    static_cast<void>(m.as<message_sink>());
    EXPECT_EQ(taken().size(), before + 1) << "it is called when it is asked for";
    static_cast<void>(m.as<message_sink>());
    EXPECT_EQ(taken().size(), before + 1);
  };
  const interception all[] = {
      {"looks at the bytes",
       [](intercepted_message& m) {
         echo::Text seen;
         EXPECT_TRUE(seen.ParseFromString(std::string(as_text(m.bytes()))));
         EXPECT_EQ(seen.text(), "one");
         EXPECT_TRUE(m.is<message_sink>());
         EXPECT_FALSE(m.is<bytes_message>());
         return status();
       },
       {"one"}},
      {"asks for the sink",
       [&](intercepted_message& m) {
         ask(m);
         return status();
       },
       {"one"}},
      {"sets other bytes",
       [&](intercepted_message& m) {
         m.set_bytes(other);
         return status();
       },
       {"other"}},
      {"asks for the sink, and sets other bytes",
       [&](intercepted_message& m) {
         ask(m);
         m.set_bytes(other);
         return status();
       },
       {"one", "other"}},
  };
  for (const side of : sides) {
    for (const interception& each : all) {
      SCOPED_TRACE(each.what);
      serve(of, each.with);
      EXPECT_EQ(call(of, keep, "one").end, status());
      texts given;
      for (int i = 0; i < 3; ++i) given.insert(given.end(), each.given.begin(), each.given.end());
      EXPECT_EQ(taken(), given);
    }
  }
}

TEST_P(message_sinks, GetNoMessageThatAnInterceptorRefuses) {
  for (const side of : sides) {
    serve(of, [](intercepted_message&) { return status::aborted("refused"); });
    EXPECT_EQ(call(of, keep, "one").end, status::aborted("refused"));
    EXPECT_EQ(taken(), texts());
  }
}

TEST_P(message_sinks, EndTheCallWhoseFunctionFailsBehindAnInterceptor) {
  for (const side of : sides) {
    for (const bool asks : {false, true}) {
      bool asking = asks;
      serve(of, [&asking](intercepted_message& m) {
        if (asking) static_cast<void>(m.as<message_sink>());
        return status();
      });
      for (const auto& [function, code] : failing_functions) {
        const outcome failed = call(of, function, "one");
        EXPECT_EQ(failed.end.code(), code) << failed.end;
        EXPECT_EQ(taken(), texts{"one"});
        const outcome after = call(of, keep, "one");
        EXPECT_EQ(after.end, status());
        EXPECT_EQ(after.peer, failed.peer) << "the connection is another one";
      }
    }
  }
}

}  // namespace
}  // namespace coracle::testing_support::message_sink_test
