// What interceptors see of messages, change in them and answer with: on both sides, in calls of every kind.
#include "catalog/part.pb.h"
#include "support/echo_fixture.hpp"
#include "support/kept_log.hpp"

#include "coracle/client/generic_stub.hpp"
#include "coracle/server/generic_service.hpp"
#include "coracle/server/server_interceptor.hpp"

#include <gmock/gmock.h>

#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace coracle::testing_support::intercepted_message_test {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

using look = std::function<status(intercepted_message&)>;

class hooks final : public message_hooks {
 public:
  hooks(look request, look reply) : request_(std::move(request)), reply_(std::move(reply)) {}
  status on_request(intercepted_message& m) override { return request_ ? request_(m) : status(); }
  status on_reply(intercepted_message& m) override { return reply_ ? reply_(m) : status(); }

 private:
  look request_;
  look reply_;
};

std::shared_ptr<message_hooks> on_requests(look f) { return std::make_shared<hooks>(std::move(f), nullptr); }
std::shared_ptr<message_hooks> on_replies(look f) { return std::make_shared<hooks>(nullptr, std::move(f)); }

// Lets every call pass the same hooks.
class client_passing final : public client_interceptor {
 public:
  explicit client_passing(std::shared_ptr<message_hooks> h) : hooks_(std::move(h)) {}
  task<status> intercept(client_context&, next_call next) override { co_return co_await next(hooks_); }

 private:
  std::shared_ptr<message_hooks> hooks_;
};
class server_passing final : public server_interceptor {
 public:
  explicit server_passing(std::shared_ptr<message_hooks> h) : hooks_(std::move(h)) {}
  task<status> intercept(server_context&, next_handler next) override { co_return co_await next(hooks_); }

 private:
  std::shared_ptr<message_hooks> hooks_;
};

using client_body = task<status> (*)(client_context&, next_call);
class client_doing final : public client_interceptor {
 public:
  explicit client_doing(client_body program) : what_(program) {}
  task<status> intercept(client_context& call, next_call next) override { return what_(call, next); }

 private:
  client_body what_;
};
using server_body = task<status> (*)(server_context&, next_handler);
class server_doing final : public server_interceptor {
 public:
  explicit server_doing(server_body program) : what_(program) {}
  task<status> intercept(server_context& context, next_handler next) override { return what_(context, next); }

 private:
  server_body what_;
};

// What a call of each kind ended with, and the texts of its replies.
struct outcome {
  explicit outcome(std::string k) : kind(std::move(k)) {}
  std::string kind;
  status end;
  std::string texts;
};

enum class place { client_request, server_request, server_reply, client_reply };
constexpr auto places = {place::client_request, place::server_request, place::server_reply,
                         place::client_reply};
bool is_request(place p) { return p == place::client_request || p == place::server_request; }
bool is_client(place p) { return p == place::client_request || p == place::client_reply; }

class intercepted_messages : public echo_fixture {
 protected:
  void TearDown() override {
    front_.reset();
    echo_fixture::TearDown();
  }
  void serve(std::vector<std::shared_ptr<server_interceptor>> around, const server_options& options = {}) {
    front_.reset();
    channel_.reset();
    server_.emplace(rt(), options);
    server_->add(service_);
    server_->set_fallback(generic_);
    for (auto& i : around) server_->add_interceptor(std::move(i));
    link();
  }
  void serve() { serve(std::vector<std::shared_ptr<server_interceptor>>()); }
  void serve(server_body program) { serve({std::make_shared<server_doing>(program)}); }
  void serve_passing(std::shared_ptr<message_hooks> h, const server_options& options = {}) {
    serve({std::make_shared<server_passing>(std::move(h))}, options);
  }
  // The stubs of the test call through these.
  void call(std::vector<std::shared_ptr<client_interceptor>> around) {
    front_ = channel_->with_interceptors(std::move(around));
  }
  void call(client_body program) { call({std::make_shared<client_doing>(program)}); }
  void call_passing(std::shared_ptr<message_hooks> h) {
    call({std::make_shared<client_passing>(std::move(h))});
  }
  // The hooks stand at one of the four places that a message passes.
  void stand_at(place p, look f) {
    auto h = is_request(p) ? on_requests(std::move(f)) : on_replies(std::move(f));
    if (is_client(p)) {
      serve();
      call_passing(std::move(h));
    } else {
      serve_passing(std::move(h));
    }
  }
  [[nodiscard]] coracle::channel channel() { return front_ ? *front_ : *channel_; }
  [[nodiscard]] echo_stub stub() { return echo_stub(channel()); }
  [[nodiscard]] generic_stub any() { return generic_stub(channel()); }

  static task<std::vector<outcome>> one_of_each(echo_stub s, const call_options& options) {
    const echo::Text hello = text("hello", 2);
    std::vector<outcome> all;
    outcome& say = all.emplace_back("Say");
    const auto reply = co_await s.Say(hello, options);
    say.end = reply.status();
    if (reply) say.texts = reply->text();
    outcome& collect = all.emplace_back("Collect");
    auto collecting = s.Collect(options);
    (void)co_await collecting.write(hello);
    (void)co_await collecting.write(hello);
    const auto collected = co_await collecting.finish();
    collect.end = collected.status();
    if (collected) collect.texts = collected->text();
    outcome& repeat = all.emplace_back("Repeat");
    auto repeating = s.Repeat(hello, options);
    while (true) {
      const auto one = co_await repeating.next();
      if (!one.ok() || !*one) break;
      repeat.texts += (*one)->text();
    }
    const status repeated = co_await repeating.finish();
    repeat.end = repeated;
    outcome& chat = all.emplace_back("Chat");
    auto chatting = s.Chat(options);
    for (int i = 0; i < 2; ++i) {
      (void)co_await chatting.write(hello);
      const auto one = co_await chatting.next();
      if (one.ok() && *one) chat.texts += (*one)->text();
    }
    const status chatted = co_await chatting.finish();
    chat.end = chatted;
    EXPECT_EQ(hello.text(), "hello") << "the caller's message is as it was";
    co_return all;
  }
  std::vector<outcome> one_of_each(const call_options& options = {}) {
    return run(one_of_each(stub(), options));
  }
  result<echo::Text> say(const std::string& content = "hello", const call_options& options = {}) {
    return sync_wait(stub().Say(text(content), options));
  }

  // Echoes every message of methods that the server has not.
  class echoing final : public generic_service {
    replies<bytes_message> call(server_context&, reader<bytes_message> requests) override {
      while (auto one = co_await requests.next()) co_yield *one;
      co_return coracle::ok;
    }
  };
  echoing generic_;
  std::optional<coracle::channel> front_;  // empty: no interceptors
  std::vector<std::string> log_;
};
INSTANTIATE_TEST_SUITE_P(Everywhere, intercepted_messages, every_world_over_tcp, echo_fixture::case_name);

TEST_P(intercepted_messages, PassTheHooksFromTheCallerToTheHandlerAndBack) {
  std::vector<std::string> server_log;
  const auto noting = [](std::string name, std::vector<std::string>& log) {
    return std::make_shared<hooks>(
        [name, &log](intercepted_message& m) {
          log.push_back(name + ">" + m.as<echo::Text>().text());
          return status();
        },
        [name, &log](intercepted_message& m) {
          log.push_back(name + "<" + m.as<echo::Text>().text());
          return status();
        });
  };
  serve({std::make_shared<server_passing>(noting("c", server_log)),
         std::make_shared<server_passing>(noting("d", server_log))});
  call({std::make_shared<client_passing>(noting("a", log_)),
        std::make_shared<client_passing>(noting("b", log_))});
  for (const outcome& o : one_of_each()) EXPECT_EQ(o.end, status()) << o.kind;
  using list = std::vector<std::string>;
  EXPECT_EQ(log_, (list{"a>hello",      "b>hello",      "b<hello", "a<hello",                       // Say
                        "a>hello",      "b>hello",      "a>hello", "b>hello",  // Collect
                        "b<hellohello", "a<hellohello",  //
                        "a>hello",      "b>hello",  // Repeat
                        "b<hello",      "a<hello",      "b<hello", "a<hello",  //
                        "a>hello",      "b>hello",      "b<hello", "a<hello",  // Chat
                        "a>hello",      "b>hello",      "b<hello", "a<hello"}));
  EXPECT_EQ(server_log, (list{"c>hello",      "d>hello",      "d<hello", "c<hello",  // Say
                              "c>hello",      "d>hello",      "c>hello", "d>hello",  // Collect
                              "d<hellohello", "c<hellohello",  //
                              "c>hello",      "d>hello",  // Repeat
                              "d<hello",      "c<hello",      "d<hello", "c<hello",  //
                              "c>hello",      "d>hello",      "d<hello", "c<hello",  // Chat
                              "c>hello",      "d>hello",      "d<hello", "c<hello"}));
}

TEST_P(intercepted_messages, AreSeenAsBytesAndAsTheirType) {
  for (const place p : places) {
    int seen = 0;
    stand_at(p, [&seen](intercepted_message& m) {
      ++seen;
      EXPECT_TRUE(m.is<echo::Text>());
      EXPECT_TRUE(m.is<google::protobuf::Message>());
      EXPECT_FALSE(m.is<catalog::Part>());
      EXPECT_FALSE(m.is<bytes_message>());
      EXPECT_EQ(as_text(m.bytes()), m.as<echo::Text>().SerializeAsString());
      EXPECT_EQ(m.as<google::protobuf::Message>().GetDescriptor(), echo::Text::descriptor());
      EXPECT_EQ(m.as<echo::Text>().text().substr(0, 5), "hello");
      return status();
    });
    for (const outcome& o : one_of_each()) EXPECT_EQ(o.end, status()) << o.kind;
    EXPECT_GE(seen, 6);
  }
}

TEST_P(intercepted_messages, AreChangedThroughTheirType) {
  for (const place p : places) {
    stand_at(p, [](intercepted_message& m) {
      m.edit<echo::Text>().mutable_text()->append("!");
      return status();
    });
    for (const outcome& o : one_of_each()) {
      EXPECT_EQ(o.end, status()) << o.kind;
      const bool one = o.kind == "Say" || (o.kind == "Collect" && !is_request(p));
      const std::string text = o.kind == "Collect" && !is_request(p) ? "hellohello!" : "hello!";
      EXPECT_EQ(o.texts, one ? text : text + text) << o.kind;
    }
  }
}

TEST_P(intercepted_messages, AreChangedThroughTheirBytes) {
  for (const place p : places) {
    stand_at(p, [](intercepted_message& m) {
      echo::Text other = m.as<echo::Text>();
      other.set_text("other");
      m.set_bytes(other.SerializeAsString());
      return status();
    });
    for (const outcome& o : one_of_each()) {
      EXPECT_EQ(o.end, status()) << o.kind;
      const bool one = o.kind == "Say" || (o.kind == "Collect" && !is_request(p));
      EXPECT_EQ(o.texts, one ? "other" : "otherother") << o.kind;
    }
  }
}

TEST_P(intercepted_messages, KeepTheLatestOfSeveralChanges) {
  for (const place p : places) {
    stand_at(p, [](intercepted_message& m) {
      echo::Text& edited = m.edit<echo::Text>();
      edited.set_text("1");
      EXPECT_EQ(as_text(m.bytes()), edited.SerializeAsString());
      edited.set_text("2");  // through a reference from before bytes()
      EXPECT_EQ(as_text(m.bytes()), edited.SerializeAsString());
      m.set_bytes(text("3").SerializeAsString());
      EXPECT_EQ(m.as<echo::Text>().text(), "3");
      m.edit<echo::Text>().mutable_text()->append("4");
      EXPECT_EQ(m.as<echo::Text>().text(), "34");
      EXPECT_EQ(&m.edit<google::protobuf::Message>(), &m.edit<echo::Text>());
      m.edit<echo::Text>().mutable_text()->append("5");
      return status();
    });
    const auto reply = say();
    ASSERT_EQ(reply.status(), status());
    EXPECT_EQ(reply->text(), "345");
    auto chatting = run([](echo_stub s) -> task<std::string> {
      auto chat = s.Chat();
      const echo::Text hello = text("hello");
      (co_await chat.write(hello)).throw_if_error();
      const auto one = (co_await chat.next()).value();
      co_return one->text();
    }(stub()));
    EXPECT_EQ(chatting, "345");
  }
}

TEST_P(intercepted_messages, EndTheCallThatAHookRefuses) {
  for (const place p : places) {
    stand_at(p, [](intercepted_message&) { return status::invalid_argument("refused"); });
    for (const outcome& o : one_of_each()) EXPECT_EQ(o.end, status::invalid_argument("refused")) << o.kind;
    if (is_request(p)) {
      EXPECT_EQ(service_.collected, 0);
    }
  }
}

TEST_P(intercepted_messages, EndTheCallThatAHookThrowsOutOf) {
  for (const place p : places) {
    stand_at(p, [](intercepted_message&) -> status { throw status_error(status::aborted("thrown")); });
    for (const outcome& o : one_of_each()) EXPECT_EQ(o.end, status::aborted("thrown")) << o.kind;
  }
}

TEST_P(intercepted_messages, AnotherTypeIsAUsageErrorThatNamesBoth) {
  for (const place p : places) {
    std::string output;
    stand_at(p, [&output](intercepted_message& m) {
      try {
        static_cast<void>(m.as<catalog::Part>());
      } catch (const usage_error& e) {
        output = e.what();
      }
      EXPECT_THROW(static_cast<void>(m.edit<bytes_message>()), usage_error);
      return status();
    });
    EXPECT_EQ(say().status(), status());
    EXPECT_THAT(output, HasSubstr("catalog::Part"));
    EXPECT_THAT(output, HasSubstr("echo::Text"));
  }
}

TEST_P(intercepted_messages, OfGenericCallsAreBytes) {
  for (const place p : places) {
    std::string output;
    stand_at(p, [&output](intercepted_message& m) {
      EXPECT_TRUE(m.is<bytes_message>());
      EXPECT_FALSE(m.is<google::protobuf::Message>());
      try {
        static_cast<void>(m.as<echo::Text>());
      } catch (const usage_error& e) {
        output = e.what();
      }
      EXPECT_EQ(as_text(m.bytes()), m.as<bytes_message>().bytes());
      bytes_message& edited = m.edit<bytes_message>();
      edited.assign(as_bytes(edited.bytes() + "!"));
      m.set_bytes(std::string(as_text(m.bytes())) + "?");
      return status();
    });
    const bytes_message hello(std::string("hello"));
    const auto reply = sync_wait(any().unary("/echo.Unknown/Say", hello));
    ASSERT_EQ(reply.status(), status());
    EXPECT_EQ(reply->bytes(), "hello!?");
    EXPECT_EQ(hello.bytes(), "hello");
    EXPECT_THAT(output, HasSubstr("coracle::bytes_message"));
    const auto streamed = run([](generic_stub s) -> task<std::string> {
      const bytes_message request(std::string("hello"));
      auto stream = s.server_streaming("/echo.Unknown/Repeat", request);
      std::string all;
      while (const auto one = (co_await stream.next()).value()) all += one->bytes();
      co_return all;
    }(any()));
    EXPECT_EQ(streamed, "hello!?");
  }
}

TEST_P(intercepted_messages, AreInTheEncodingOfTheirCall) {
  for (const place p : places) {
    std::vector<std::string> seen;
    const look f = [&seen](intercepted_message& m) {
      seen.emplace_back(as_text(m.bytes()));
      EXPECT_EQ(m.as<echo::Text>().text(), "hello");
      m.set_bytes(R"({"text":"json"})");
      EXPECT_EQ(m.as<echo::Text>().text(), "json");
      return status();
    };
    server_options options;
    options.codecs.push_back(&json_codec());
    auto h = is_request(p) ? on_requests(f) : on_replies(f);
    if (is_client(p)) {
      serve({}, options);
      call_passing(std::move(h));
    } else {
      serve_passing(std::move(h), options);
    }
    call_options with_codec;
    with_codec.codec = &json_codec();
    for (const call_options& chosen : {with_codec}) {
      const auto reply = say("hello", chosen);
      ASSERT_EQ(reply.status(), status());
      EXPECT_EQ(reply->text(), "json");
      const auto chatted = run([](echo_stub s, call_options o) -> task<std::string> {
        auto chat = s.Chat(o);
        const echo::Text hello = text("hello");
        (co_await chat.write(hello)).throw_if_error();
        const auto one = (co_await chat.next()).value();
        co_return one->text();
      }(stub(), chosen));
      EXPECT_EQ(chatted, "json");
    }
    ASSERT_EQ(seen.size(), 2u);
    for (const std::string& s : seen) EXPECT_THAT(s, HasSubstr("\"hello\""));
  }
}

TEST_P(intercepted_messages, FollowTheOptionsThatAnInterceptorChangesInCallsOfEveryKind) {
  static std::vector<std::string> seen;
  static std::size_t views;
  static std::uint64_t received;
  seen.clear();
  views = received = 0;
  const auto watch = [](server_context& context, next_handler next) -> task<status> {
    const auto note = on_requests([](intercepted_message& m) {
      seen.emplace_back(as_text(m.bytes()));
      return status();
    });
    const status s = co_await next(note);
    received = context.traffic().bytes_received;
    co_return s;
  };
  const auto change = [](client_context& context, next_call next) -> task<status> {
    context.options().codec = &json_codec();
    context.options().compression = encoding::gzip;
    context.options().max_receive_bytes = 50'000;
    context.options().max_send_bytes = 50'000;
    co_return co_await next();
  };
  const auto inner = [](client_context&, next_call next) -> task<status> {
    if (next.has_request()) {
      EXPECT_THAT(std::string(as_text(next.request().bytes())), HasSubstr("\"text\""));
      ++views;
    }
    co_return co_await next();
  };
  server_options options;
  options.codecs = {&json_codec()};
  serve({std::make_shared<server_doing>(watch)}, options);
  call({std::make_shared<client_doing>(change), std::make_shared<client_doing>(inner)});
  const std::string twice = "hellohello";
  for (const outcome& o : one_of_each()) {
    EXPECT_EQ(o.end, status()) << o.kind;
    EXPECT_EQ(o.texts, o.kind == "Say" ? "hello" : twice) << o.kind;
  }
  EXPECT_EQ(seen.size(), 6u);
  for (const std::string& s : seen) EXPECT_THAT(s, HasSubstr("\"hello\""));
  EXPECT_EQ(views, 2u);

  struct program {
    static task<status> chat(echo_stub s, std::size_t bytes) {
      auto call = s.Chat();
      const echo::Text one = text(std::string(bytes, 'x'));
      (void)co_await call.write(one);
      const auto back = co_await call.next();
      EXPECT_EQ(back.ok() && *back && (*back)->text() == one.text(), back.ok());
      co_return co_await call.finish();
    }
    static task<status> repeat(echo_stub s, std::size_t bytes) {
      const echo::Text one = text(std::string(bytes, 'x'), 1);
      auto call = s.Repeat(one);
      co_return co_await call.finish();
    }
  };
  EXPECT_EQ(run(program::chat(stub(), 40'000)), status());
  EXPECT_LT(received, 10'000u) << "the message was not compressed";
  EXPECT_EQ(run(program::repeat(stub(), 40'000)), status());
  EXPECT_LT(received, 10'000u) << "the message was not compressed";
  EXPECT_EQ(run(program::chat(stub(), 60'000)).code(), status_code::resource_exhausted);
  EXPECT_EQ(run(program::repeat(stub(), 60'000)).code(), status_code::resource_exhausted);
}

TEST_P(intercepted_messages, AreDecompressedBeforeAndCompressedAfterTheHooks) {
  const std::string large(5000, 'x');
  for (const place p : places) {
    std::size_t most = 0;
    const look f = [&most](intercepted_message& m) {
      most = std::max(most, m.bytes().size());
      m.edit<echo::Text>().mutable_text()->append("!");
      return status();
    };
    server_options options;
    options.compression = encoding::gzip;
    auto h = is_request(p) ? on_requests(f) : on_replies(f);
    if (is_client(p)) {
      serve({}, options);
      call_passing(std::move(h));
    } else {
      serve_passing(std::move(h), options);
    }
    call_options compressed;
    compressed.compression = encoding::gzip;
    auto say = stub().Say(text(large), compressed);
    const auto reply = sync_wait(say);
    ASSERT_EQ(reply.status(), status());
    EXPECT_TRUE(say.read_compressed());
    EXPECT_EQ(reply->text(), large + "!");
    EXPECT_GE(most, large.size());
  }
}

TEST_P(intercepted_messages, ObeyTheLimitsAsTheyAreAfterTheHooks) {
  const std::string large = text(std::string(2000, 'x')).SerializeAsString();
  for (const place p : places) {
    const look f = [&large](intercepted_message& m) {
      m.set_bytes(large);
      EXPECT_EQ(m.bytes().size(), large.size());
      return status();
    };
    server_options options;
    options.max_receive_bytes = 1000;
    options.max_send_bytes = 1000;
    auto h = is_request(p) ? on_requests(f) : on_replies(f);
    if (is_client(p)) {
      serve({}, options);
      call_passing(std::move(h));
    } else {
      serve_passing(std::move(h), options);
    }
    call_options limited;
    limited.max_receive_bytes = 1000;
    limited.max_send_bytes = 1000;
    for (const outcome& o : one_of_each(limited))
      EXPECT_EQ(o.end.code(), status_code::resource_exhausted) << o.kind << o.end;
  }
  // Edited, they are larger, too.
  stand_at(place::client_request, [](intercepted_message& m) {
    m.edit<echo::Text>().set_text(std::string(2000, 'x'));
    EXPECT_GT(m.bytes().size(), 2000u) << "the limit is for what is sent";
    return status();
  });
  call_options limited_2;
  limited_2.max_send_bytes = 1000;
  EXPECT_EQ(say("hello", limited_2).status().code(), status_code::resource_exhausted);
}

TEST_P(intercepted_messages, ThatDoNotParseEndTheirCall) {
  for (const place p : places) {
    stand_at(p, [](intercepted_message& m) {
      m.set_bytes("\xff\xff");
      EXPECT_THROW(static_cast<void>(m.as<echo::Text>()), status_error);
      return status();
    });
    for (const outcome& o : one_of_each()) EXPECT_EQ(o.end.code(), status_code::internal) << o.kind << o.end;
  }
}

TEST_P(intercepted_messages, OfASecondAttemptAreThoseOfTheFirst) {
  static std::vector<std::string> sent;
  static int attempts;
  sent.clear();
  attempts = 0;
  serve([](server_context&, next_handler next) -> task<status> {
    intercepted_message& request = co_await next.request();
    sent.push_back(request.as<echo::Text>().text());
    if (++attempts == 1) co_return status::unavailable("once more");
    co_return co_await next();
  });
  const auto twice = [](client_context&, next_call next) -> task<status> {
    static const auto mark = on_requests([](intercepted_message& m) {
      m.edit<echo::Text>().mutable_text()->append("!");
      return status();
    });
    status s = co_await next(mark);
    EXPECT_EQ(s, status::unavailable("once more"));
    EXPECT_EQ(next.request().as<echo::Text>().text(), "hello") << "before its own hooks";
    s = co_await next(mark);
    co_return s;
  };
  const auto inside = [](client_context&, next_call next) -> task<status> {
    EXPECT_EQ(next.request().as<echo::Text>().text(), "hello!");
    next.request().edit<echo::Text>().mutable_text()->append("?");
    co_return co_await next();
  };
  call({std::make_shared<client_doing>(twice), std::make_shared<client_doing>(inside)});
  const auto reply = say();
  ASSERT_EQ(reply.status(), status());
  EXPECT_EQ(reply->text(), "hello!?");
  EXPECT_EQ(sent, (std::vector<std::string>{"hello!?", "hello!?"}));
}

TEST_P(intercepted_messages, AClientsInterceptorAnswersWithoutACall) {
  serve([](server_context&, next_handler) -> task<status> {
    ADD_FAILURE() << "nothing was to be sent";
    co_return status();
  });
  call([](client_context&, next_call next) -> task<status> {
    EXPECT_TRUE(next.has_request());
    EXPECT_TRUE(next.has_reply());
    next.reply().set_bytes(next.request().bytes());
    co_return coracle::ok;
  });
  ASSERT_EQ(say().status(), status());
  EXPECT_EQ(say()->text(), "hello");
  call([](client_context&, next_call next) -> task<status> {
    next.reply().edit<echo::Text>().set_text("typed");
    co_return coracle::ok;
  });
  EXPECT_EQ(say()->text(), "typed");
  call([](client_context&, next_call next) -> task<status> {
    next.reply().set_bytes("\xff\xff");
    co_return coracle::ok;
  });
  EXPECT_EQ(say().status(), status::internal("a message cannot be parsed as its protobuf type"));
  call([](client_context&, next_call next) -> task<status> {
    next.reply().set_bytes(text(std::string(2000, 'x')).SerializeAsString());
    co_return coracle::ok;
  });
  call_options limited;
  limited.max_receive_bytes = 1000;
  EXPECT_EQ(say("", limited).status().code(), status_code::resource_exhausted);
}

TEST_P(intercepted_messages, AnAnswerPassesTheHooksOfTheInterceptorsOutside) {
  const auto mark = on_replies([](intercepted_message& m) {
    m.edit<echo::Text>().mutable_text()->append("!");
    return status();
  });
  serve();
  call({std::make_shared<client_passing>(mark),
        std::make_shared<client_doing>([](client_context&, next_call next) -> task<status> {
          next.reply().edit<echo::Text>().set_text("answer");
          co_return coracle::ok;
        })});
  EXPECT_EQ(say()->text(), "answer!");
  serve({std::make_shared<server_passing>(mark),
         std::make_shared<server_doing>([](server_context&, next_handler next) -> task<status> {
           next.reply().edit<echo::Text>().set_text("answer");
           co_return coracle::ok;
         })});
  EXPECT_EQ(say()->text(), "answer!");
}

TEST_P(intercepted_messages, AClientsInterceptorChangesTheReplyThatCame) {
  serve();
  call([](client_context&, next_call next) -> task<status> {
    const status s = co_await next();
    EXPECT_EQ(as_text(next.reply().bytes()), text("hello").SerializeAsString());
    next.reply().edit<echo::Text>().mutable_text()->append("!");
    co_return s;
  });
  EXPECT_EQ(say()->text(), "hello!");
  // An answer in place of an error.
  serve([](server_context&, next_handler) -> task<status> { co_return status::unavailable("down"); });
  call([](client_context&, next_call next) -> task<status> {
    const status s = co_await next();
    EXPECT_EQ(s, status::unavailable("down"));
    next.reply().edit<echo::Text>().set_text("stale");
    co_return coracle::ok;
  });
  EXPECT_EQ(say()->text(), "stale");
}

TEST_P(intercepted_messages, AServersInterceptorAnswersInTheHandlersPlace) {
  serve([](server_context&, next_handler next) -> task<status> {
    if (!next.has_request()) {
      next.reply().edit<echo::Text>().set_text("of a stream");
      co_return coracle::ok;
    }
    intercepted_message& request = co_await next.request();
    EXPECT_TRUE(next.reply().is<echo::Text>());
    EXPECT_THROW(static_cast<void>(next.reply().as<catalog::Part>()), usage_error);
    next.reply().set_bytes(request.bytes());
    co_return coracle::ok;
  });
  EXPECT_EQ(say()->text(), "hello");
  EXPECT_EQ(service_.collected, 0);
  const auto collected = run([](echo_stub s) -> task<std::string> {
    auto call = s.Collect();
    const auto reply = co_await call.finish();
    co_return reply ? reply->text() : reply.status().to_string();
  }(stub()));
  EXPECT_EQ(collected, "of a stream");
  EXPECT_EQ(service_.collected, 0);
  const auto plain = sync_wait(any().unary("/echo.Echo/Say", bytes_message(text("raw").SerializeAsString())));
  ASSERT_EQ(plain.status(), status());
  EXPECT_EQ(plain->bytes(), text("raw").SerializeAsString());
}

TEST_P(intercepted_messages, AServersInterceptorChangesRequestAndReply) {
  serve([](server_context& context, next_handler next) -> task<status> {
    intercepted_message& request = co_await next.request();
    request.edit<echo::Text>().mutable_text()->append("?");
    const status s = co_await next();
    if (s.ok()) {
      EXPECT_EQ(next.reply().as<echo::Text>().text(), "hello?");
      next.reply().edit<echo::Text>().mutable_text()->append("!");
      EXPECT_EQ(context.traffic().bytes_sent, text("hello?!").ByteSizeLong());
    } else {
      next.reply().edit<echo::Text>().set_text("in place of an error");
    }
    co_return coracle::ok;
  });
  EXPECT_EQ(say()->text(), "hello?!");
  const auto at_once = sync_wait(stub().SayAtOnce(text("hello")));
  EXPECT_EQ(at_once->text(), "hello?!");
  const auto failed = sync_wait(stub().Missing(text("hello")));
  EXPECT_EQ(failed->text(), "in place of an error");
}

TEST_P(intercepted_messages, TheInnerInterceptorSeesWhatTheOuterOneChanged) {
  const auto mark = on_requests([](intercepted_message& m) {
    m.edit<echo::Text>().mutable_text()->append("!");
    return status();
  });
  const auto inner = [](server_context&, next_handler next) -> task<status> {
    intercepted_message& request = co_await next.request();
    EXPECT_EQ(request.as<echo::Text>().text(), "hello!");
    static const auto later = on_requests([](intercepted_message& m) {
      m.edit<echo::Text>().mutable_text()->append("?");
      return status();
    });
    co_return co_await next(later);
  };
  serve({std::make_shared<server_passing>(mark), std::make_shared<server_doing>(inner)});
  EXPECT_EQ(say()->text(), "hello!?");
}

TEST_P(intercepted_messages, ARequestThatHooksRefusedReachesNoInnerInterceptor) {
  static int asked;
  asked = 0;
  const auto inner = [](server_context&, next_handler next) -> task<status> {
    ++asked;
    static_cast<void>(co_await next.request());
    ADD_FAILURE() << "the request was refused";
    co_return co_await next();
  };
  const auto outer = [](server_context& context, next_handler next) -> task<status> {
    const status s = co_await next(on_requests([](intercepted_message&) { return status::aborted("no"); }));
    EXPECT_EQ(s, status::aborted("no"));
    context.trailing_metadata().add("x-outer", "was here");
    co_return s;
  };
  serve({std::make_shared<server_doing>(outer), std::make_shared<server_doing>(inner)});
  auto say = stub().Say(text("hello"));
  EXPECT_EQ(sync_wait(say).status(), status::aborted("no"));
  EXPECT_EQ(say.trailing_metadata().find("x-outer"), "was here");
  EXPECT_EQ(asked, 1);
}

TEST_P(intercepted_messages, ARefusedRequestStaysRefusedForAnInnerInterceptorThatCallsNextAllTheSame) {
  const auto unless_counted = on_requests([](intercepted_message& m) {
    return m.as<echo::Text>().count() == 0 ? status::aborted("no") : status();
  });
  static int refused;
  static int passed;
  refused = passed = 0;
  const auto inner = [](server_context&, next_handler next) -> task<status> {
    try {
      static_cast<void>(co_await next.request());
    } catch (const status_error& e) {
      EXPECT_EQ(e.status(), status::aborted("no"));
      ++refused;
    }
    const auto pass = on_requests([](intercepted_message&) {
      ++passed;
      return status();
    });
    co_return co_await next(pass);
  };
  serve({std::make_shared<server_passing>(unless_counted), std::make_shared<server_doing>(inner)});
  auto call = stub().Misbehave(text("metadata"));
  EXPECT_EQ(sync_wait(call).status(), status::aborted("no"));
  EXPECT_EQ(call.trailing_metadata().find("x-trailer"), std::nullopt) << "the handler ran";
  EXPECT_EQ(refused, 1);
  EXPECT_EQ(passed, 0) << "the inner hooks saw a message that the outer ones had refused";
  auto control = stub().Misbehave(text("metadata", 1));
  EXPECT_EQ(sync_wait(control).status(), status());
  EXPECT_EQ(control.trailing_metadata().find("x-trailer"), "late");
  EXPECT_EQ(passed, 1);
}

TEST_P(intercepted_messages, AServersInterceptorWaitsForALateRequest) {
  static int waiting;
  waiting = 0;
  serve([](server_context&, next_handler next) -> task<status> {
    ++waiting;
    intercepted_message& request = co_await next.request();
    request.edit<echo::Text>().mutable_text()->append("!");
    co_await sleep_for(5ms);
    EXPECT_EQ(request.as<echo::Text>().text(), "late!") << "it is kept until next()";
    co_return co_await next();
  });
  const auto got = run([](generic_stub s) -> task<std::string> {
    auto call = s.bidi<echo::Text, echo::Text>("/echo.Echo/Say");
    co_await call.start();
    while (waiting == 0) co_await sleep_for(1ms);
    co_await sleep_for(5ms);
    const echo::Text late = text("late");
    (co_await call.write(late)).throw_if_error();
    co_await call.writes_done();
    const auto reply = (co_await call.next()).value();
    co_return reply->text();
  }(any()));
  EXPECT_EQ(got, "late!");
}

TEST_P(intercepted_messages, TheWaitForARequestEndsWithItsTaskAndWithItsCall) {
  static status stopped;
  static status over;
  static int ended;
  stopped = over = status();
  ended = 0;
  serve([](server_context&, next_handler next) -> task<status> {
    struct waiting {
      static task<status> run(next_handler n) {
        try {
          static_cast<void>(co_await n.request());
        } catch (const status_error& e) {
          stopped = e.status();
          co_return stopped;
        }
        co_return status();
      }
    };
    auto first = waiting::run(next);
    with_timeout<status> limited(5ms, std::move(first));
    const status timed_out = co_await limited;
    EXPECT_FALSE(timed_out.ok());
    try {
      static_cast<void>(co_await next.request());
    } catch (const status_error& e) {
      over = e.status();
    }
    ++ended;
    co_return over;
  });
  run([](generic_stub s) -> task<> {
    {
      auto call = s.bidi<echo::Text, echo::Text>("/echo.Echo/Say");
      co_await call.start();
      co_await sleep_for(30ms);
    }
    while (ended == 0) co_await sleep_for(1ms);
  }(any()));
  EXPECT_EQ(stopped.code(), status_code::cancelled);
  EXPECT_EQ(over, status::cancelled("the client cancelled the call"));
}

TEST_P(intercepted_messages, RequestAndReplyAreForCallsThatHaveOne) {
  static std::vector<std::string> reported;
  reported.clear();
  const auto ask = [](const auto& f) {
    try {
      f();
    } catch (const usage_error& e) {
      reported.emplace_back(e.what());
    }
  };
  static const auto asking = ask;
  serve([](server_context&, next_handler next) -> task<status> {
    EXPECT_FALSE(next.has_request());
    EXPECT_FALSE(next.has_reply());
    try {
      static_cast<void>(co_await next.request());
    } catch (const usage_error& e) {
      reported.emplace_back(e.what());
    }
    asking([&] { static_cast<void>(next.reply()); });
    co_return co_await next();
  });
  call([](client_context&, next_call next) -> task<status> {
    EXPECT_FALSE(next.has_request());
    EXPECT_FALSE(next.has_reply());
    asking([&] { static_cast<void>(next.request()); });
    asking([&] { static_cast<void>(next.reply()); });
    co_return co_await next();
  });
  const status chatted = run([](echo_stub s) -> task<status> {
    auto chat = s.Chat();
    co_return co_await chat.finish();
  }(stub()));
  EXPECT_EQ(chatted, status());
  ASSERT_EQ(reported.size(), 4u);
  for (const std::string& s : reported) EXPECT_THAT(s, HasSubstr("pass message_hooks to next()"));
}

TEST_P(intercepted_messages, AClientsHooksSeeWhatIsReadAfterTheInterceptorsHaveEnded) {
  static int ended;
  ended = 0;
  serve();
  call([](client_context&, next_call next) -> task<status> {
    const auto mark = on_replies([](intercepted_message& m) {
      m.edit<echo::Text>().mutable_text()->append("!");
      return m.as<echo::Text>().count() == 2 ? status::aborted("the last is refused") : status();
    });
    const status s = co_await next(mark);
    ++ended;
    co_return s;
  });
  struct program {
    static task<> read(echo_stub s) {
      const echo::Text hello = text("hello", 3);
      auto repeating = s.Repeat(hello);
      co_await repeating.start();
      while (ended == 0) co_await sleep_for(1ms);
      const auto first = (co_await repeating.next()).value();
      EXPECT_EQ(first->text(), "hello!");
      const auto second = (co_await repeating.next()).value();
      EXPECT_EQ(second->text(), "hello!");
      const auto third = co_await repeating.next();
      EXPECT_EQ(third.status(), status::aborted("the last is refused"));
      const status end = co_await repeating.finish();
      EXPECT_EQ(end, status::aborted("the last is refused"));
    }
    static task<> collect(echo_stub s) {
      auto collecting = s.Collect();
      const echo::Text hello = text("hello");
      (co_await collecting.write_last(hello)).throw_if_error();
      while (ended == 1) co_await sleep_for(1ms);
      const auto reply = co_await collecting.finish();
      EXPECT_EQ(reply->text(), "hello!");
    }
  };
  run(program::read(stub()));
  run(program::collect(stub()));
}

TEST_P(intercepted_messages, AreGoneWithACallThatWasDestroyed) {
  static int gone;
  gone = 0;
  serve([](server_context&, next_handler) -> task<status> {
    co_await sleep_for(1h);
    co_return status();
  });
  static const auto pass = on_requests([](intercepted_message&) { return status(); });
  const auto stubborn = [](client_context&, next_call next) -> task<status> {
    EXPECT_EQ(next.request().as<echo::Text>().text(), "hello");
    const status s = co_await next(pass);
    EXPECT_EQ(s.code(), status_code::cancelled);
    EXPECT_FALSE(next.request().is<echo::Text>());
    EXPECT_THROW(static_cast<void>(next.request().bytes()), call_ended);
    EXPECT_THROW(static_cast<void>(next.request().as<echo::Text>()), call_ended);
    EXPECT_THROW(next.request().set_bytes(""), call_ended);
    ++gone;
    co_return s;
  };
  call({std::make_shared<client_passing>(pass), std::make_shared<client_doing>(stubborn)});
  run([](echo_stub s) -> task<> {
    {
      const echo::Text hello = text("hello");
      auto repeating = s.Repeat(hello);
      co_await repeating.start();
      co_await sleep_for(5ms);
    }
    while (gone == 0) co_await sleep_for(1ms);
  }(stub()));
}

TEST_P(intercepted_messages, AreNotDecodedForAnInterceptorThatRejectsTheCall) {
  serve([](server_context& context, next_handler next) -> task<status> {
    co_await sleep_for(10ms);  // the request has arrived
    EXPECT_EQ(context.traffic().messages_received, 0u);
    if (context.metadata().find("x-key")) co_return co_await next();
    co_return status::unauthenticated("no key");
  });
  EXPECT_EQ(say().status(), status::unauthenticated("no key"));
  EXPECT_EQ(say("hello", call_options().add_metadata("x-key", "1"))->text(), "hello");
  EXPECT_EQ(say(std::string(100'000, 'x'), call_options().add_metadata("x-key", "1"))->text().size(),
            100'000u);
}

}  // namespace
}  // namespace coracle::testing_support::intercepted_message_test
