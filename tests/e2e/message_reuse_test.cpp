// Messages that a server reuses: no call sees the data of another, whatever outlives the call.
#include "support/echo_service.hpp"
#include "support/every_backend.hpp"
#include "support/message_text.hpp"

#include "coracle/client/generic_stub.hpp"
#include "coracle/coro/event.hpp"

#include <google/protobuf/struct.pb.h>
#include <google/protobuf/text_format.h>

#include <coroutine>
#include <string>
#include <utility>
#include <vector>

namespace coracle::testing_support::message_reuse_test {
namespace {

using namespace std::chrono_literals;
using google::protobuf::Value;

constexpr bool reuses = server_internal::reuses_messages;

// Replies with the request: in place, by value, and constructed in place.
class values final : public service {
 public:
  int calls = 0;

  reply<Value> FromRequest(server_context&, const Value& request) {
    ++calls;
    co_return &request;
  }
  reply<Value> ByValue(server_context&, const Value& request) {
    ++calls;
    return request;
  }
  reply<Value> InPlace(server_context& context, const Value& request) {
    ++calls;
    auto& reply = context.make_reply<Value>();
    EXPECT_EQ(reply.ByteSizeLong(), 0u) << reply.ShortDebugString();
    EXPECT_EQ(reply.kind_case(), Value::KIND_NOT_SET);
    reply.MergeFrom(request);
    co_return &reply;
  }
  reply<Value> InPlaceAtOnce(server_context& context, const Value& request) {
    ++calls;
    auto& reply = context.make_reply<Value>();
    EXPECT_EQ(reply.ByteSizeLong(), 0u) << reply.ShortDebugString();
    reply.MergeFrom(request);
    return &reply;
  }
  // One of three, which is not sent.
  reply<Value> OneOfThree(server_context& context, const Value& request) {
    ++calls;
    auto& before = context.make_reply<Value>();
    auto& reply = context.make_reply<Value>();
    auto& after = context.make_reply<Value>();
    EXPECT_EQ(before.ByteSizeLong() + reply.ByteSizeLong() + after.ByteSizeLong(), 0u);
    before.set_string_value("before");
    after.set_number_value(3);
    reply = request;
    co_return &reply;
  }
  [[nodiscard]] method_table methods() const noexcept override {
    static constexpr method table[] = {unary_method<&values::FromRequest>("/values/FromRequest"),
                                       unary_method<&values::ByValue>("/values/ByValue"),
                                       unary_method<&values::InPlace>("/values/InPlace"),
                                       unary_method<&values::InPlaceAtOnce>("/values/InPlaceAtOnce"),
                                       unary_method<&values::OneOfThree>("/values/OneOfThree")};
    return table;
  }
};

Value parsed(const std::string& fields) {
  Value v;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(fields, &v)) << fields;
  return v;
}

// Each kind of field: texts and messages of a oneof, lists, maps, and unknown fields.
std::vector<Value> all_shapes() {
  std::vector<Value> all = {
      parsed("string_value: 'a secret of the first call'"),
      parsed("struct_value { fields { key: 'a' value { string_value: 'first' } } "
             "fields { key: 'b' value { list_value { values { number_value: 1 } } } } }"),
      parsed("list_value { values { string_value: 'x' } values { string_value: 'y' } values { bool_value: "
             "true } }"),
      parsed(""),
      parsed("list_value { values { null_value: NULL_VALUE } }"),
      parsed("struct_value { fields { key: 'c' value { } } }"),
      parsed("number_value: 2.5"),
      parsed("string_value: ''"),
  };
  Value unknown;
  unknown.GetReflection()->MutableUnknownFields(&unknown)->AddLengthDelimited(15, std::string("unknown"));
  unknown.GetReflection()->MutableUnknownFields(&unknown)->AddVarint(16, 7);
  all.push_back(unknown);
  all.emplace_back();
  return all;
}

class message_reuse : public every_backend {
 protected:
  void serve(service& s, const server_options& options = {}, std::shared_ptr<server_interceptor> i = {}) {
    server_.emplace(rt(), options);
    server_->add(s);
    if (i) server_->add_interceptor(std::move(i));
    ASSERT_EQ(server_->listen("127.0.0.1:0", insecure()), status());
    channel_.emplace(rt(), "127.0.0.1:" + std::to_string(server_->port()), insecure());
  }
  void TearDown() override {
    channel_.reset();
    server_.reset();
  }
  [[nodiscard]] echo_stub stub() noexcept { return echo_stub(*channel_); }
  static task<> call_with_all(generic_stub s, const char* path, call_options options) {
    for (int round = 0; round < 3; ++round) {
      for (const Value& sent : all_shapes()) {
        const auto reply = co_await s.unary<Value>(path, sent, options);
        EXPECT_EQ(reply.status(), status()) << path;
        if (!reply) co_return;
        EXPECT_EQ(message_text(*reply), message_text(sent)) << path;
      }
    }
  }
  static echo::Text text(std::string text) {
    echo::Text t;
    t.set_text(std::move(text));
    return t;
  }
  static task<std::string> say(echo_stub s, std::string content) {
    const echo::Text request = text(std::move(content));
    const auto reply = co_await s.Say(request);
    if (!reply) co_return reply.status().to_string();
    co_return reply->text();
  }
  std::optional<server> server_;
  std::optional<channel> channel_;
};
INSTANTIATE_TEST_SUITE_P(On, message_reuse, all_kinds, every_backend::case_name);

constexpr const char* all_methods[] = {"/values/FromRequest", "/values/ByValue", "/values/InPlace",
                                       "/values/InPlaceAtOnce", "/values/OneOfThree"};

TEST_P(message_reuse, ShowsNothingOfACallToTheNext) {
  values service;
  serve(service);
  for (const char* path : all_methods) run(call_with_all(generic_stub(*channel_), path, {}));
  EXPECT_EQ(service.calls, 5 * 3 * 10);
}

TEST_P(message_reuse, ShowsNothingOfACompressedCallToTheNext) {
  values service;
  server_options options;
  options.compression = compression(encoding::gzip).min_bytes(0);
  serve(service, options);
  call_options compressed;
  compressed.compression = compression(encoding::gzip).min_bytes(0);
  for (const char* path : all_methods) run(call_with_all(generic_stub(*channel_), path, compressed));
}

class patient final : public server_interceptor {
 public:
  task<status> intercept(server_context&, next_handler next) override {
    const status s = co_await next();
    co_return s;
  }
};

TEST_P(message_reuse, ShowsNothingOfACallToTheNextBehindAnInterceptor) {
  values service;
  serve(service, {}, std::make_shared<patient>());
  for (const char* path : all_methods) run(call_with_all(generic_stub(*channel_), path, {}));
}

// Reports the memory of its messages when they arrive.
class capacities final : public echo_service {
 public:
  std::size_t of_request = 0;
  std::size_t of_reply = 0;
  reply<echo::Text> Say(server_context& context, const echo::Text& request) override {
    auto& reply = context.make_reply<echo::Text>();
    EXPECT_TRUE(reply.text().empty());
    of_request = request.text().capacity();
    of_reply = reply.mutable_text()->capacity();
    reply.set_text(request.text());
    return &reply;
  }
};

TEST_P(message_reuse, KeepsTheMemoryOfSmallMessagesAlone) {
  capacities service;
  serve(service);
  run(say(stub(), std::string(700, 'x')));
  run(say(stub(), "small"));
  EXPECT_EQ(service.of_request >= 700, reuses);
  EXPECT_EQ(service.of_reply >= 700, reuses);
  run(say(stub(), std::string(5000, 'x')));
  run(say(stub(), "small"));
  EXPECT_LT(service.of_request, 5000u);
  EXPECT_LT(service.of_reply, 5000u);
}

TEST_P(message_reuse, KeepsNoMessageThatWasLargeBeforeItWasCompressed) {
  capacities service;
  server_options options;
  options.compression = encoding::gzip;
  serve(service, options);
  channel_options options_2;
  options_2.calls.compression = encoding::gzip;
  channel_.emplace(rt(), "127.0.0.1:" + std::to_string(server_->port()), insecure(), options_2);
  run(say(stub(), "small"));  // what is large comes into a message that is kept already
  run(say(stub(), std::string(100'000, 'x')));
  run(say(stub(), "small"));
  EXPECT_LT(service.of_request, 100'000u);
  EXPECT_LT(service.of_reply, 100'000u);
}

// Replies that were not sent, whose size is unknown.
class wasteful final : public echo_service {
 public:
  std::size_t seen = 0;
  reply<echo::Text> Say(server_context& context, const echo::Text& request) override {
    auto& reply = context.make_reply<echo::Text>();
    seen = std::max(seen, reply.mutable_text()->capacity());
    if (request.text() == "sent") return &reply;
    reply.set_text(std::string(1'000'000, 'x'));
    if (request.text() == "fails") return status::not_found("no reply");
    if (request.text() == "too large") return &reply;
    return echo::Text();
  }
};

TEST_P(message_reuse, KeepsNoReplyThatWasNotSent) {
  wasteful service;
  server_options options;
  options.max_send_bytes = 1000;
  serve(service, options);
  for (const char* text : {"fails", "too large", "another"}) {
    run(say(stub(), "sent"));
    run(say(stub(), text));
  }
  run(say(stub(), "sent"));
  EXPECT_LT(service.seen, 1'000'000u);
}

// --- what lives longer than the handler

// Makes another call of the same method before it releases the first one's reply.
class meddling final : public server_interceptor {
 public:
  std::optional<echo_stub> next_call;
  int nested = 0;
  task<status> intercept(server_context& context, next_handler next) override {
    const status s = co_await next();
    if (nested < 3) {
      ++nested;
      const std::string other = "nested " + std::to_string(nested);
      const std::string got = co_await say(*next_call, other);
      EXPECT_EQ(got, other);
    }
    EXPECT_GT(context.traffic().bytes_sent, 0u);
    co_return s;
  }

 private:
  static task<std::string> say(echo_stub s, std::string content) {
    echo::Text request;
    request.set_text(std::move(content));
    const auto reply = co_await s.Say(request);
    if (!reply) co_return reply.status().to_string();
    co_return reply->text();
  }
};

// From the request itself, or from a reply constructed in place.
class in_place_echo final : public echo_service {
 public:
  bool from_request = false;
  reply<echo::Text> Say(server_context& context, const echo::Text& request) override {
    if (from_request) co_return &request;
    auto& reply = context.make_reply<echo::Text>();
    reply.set_text(request.text());
    co_return &reply;
  }
};

TEST_P(message_reuse, KeepsMessagesFromOthersUntilTheInterceptorsHaveEnded) {
  for (const bool from_request : {false, true}) {
    in_place_echo service;
    service.from_request = from_request;
    auto meddler = std::make_shared<meddling>();
    serve(service, {}, meddler);
    meddler->next_call.emplace(*channel_);
    EXPECT_EQ(run(say(stub(), "outer")), "outer");
    EXPECT_EQ(meddler->nested, 3);
    EXPECT_EQ(run(say(stub(), "after")), "after");
    TearDown();
  }
}

// Waits until the test releases it, and ignores a stop.
class stubborn final : public echo_service {
 public:
  std::coroutine_handle<> waiting;
  event<> waits;  // `waiting` can be resumed
  event<> over;
  std::string seen;
  reply<echo::Text> Say(server_context& context, const echo::Text& request) override {
    auto& reply = context.make_reply<echo::Text>();
    EXPECT_TRUE(reply.text().empty());
    reply.set_text(request.text());
    if (request.text() == "stays") {
      struct until_resumed {
        stubborn& of;
        explicit until_resumed(stubborn& s) noexcept : of(s) {}
        bool await_ready() const noexcept { return false; }
        void await_suspend(std::coroutine_handle<> h) const noexcept {
          of.waiting = h;
          of.waits.set();
        }
        void await_resume() const noexcept {}
      };
      until_resumed released(*this);
      co_await released;
      EXPECT_TRUE(context.cancelled());
      seen = request.text() + " " + reply.text();
      over.set();
    }
    co_return &reply;
  }
};

TEST_P(message_reuse, KeepsTheMessagesOfAHandlerThatOutlivesItsCall) {
  stubborn service;
  serve(service);
  struct program {
    static task<> abandon(echo_stub s, stubborn& service) {
      scope work{co_await coro::this_environment()};
      work.spawn(until_stopped(s));
      co_await service.waits;
      work.request_stop();
      co_await work.join();
      for (int i = 0; i < 20; ++i) {
        const echo::Text other = text("other " + std::to_string(i));
        const auto reply = co_await s.Say(other);
        EXPECT_EQ(reply->text(), other.text());
      }
      service.waiting.resume();
      co_await service.over;
      for (int i = 0; i < 20; ++i) {
        const echo::Text other = text("later " + std::to_string(i));
        const auto reply = co_await s.Say(other);
        EXPECT_EQ(reply->text(), other.text());
      }
    }
    static task<> until_stopped(echo_stub s) {
      const echo::Text request = text("stays");
      const auto reply = co_await s.Say(request);
      EXPECT_EQ(reply.status().code(), status_code::cancelled);
    }
  };
  run(program::abandon(stub(), service));
  EXPECT_EQ(service.seen, "stays stays");
}

// The server is destroyed first; its shard stays until the handler has ended.
TEST_P(message_reuse, KeepsTheMessagesOfAHandlerThatOutlivesItsServersDrain) {
  stubborn service;
  server_options options;
  options.drain_grace = 10ms;
  serve(service, options);
  struct program {
    static task<> stop(echo_stub s, stubborn& service, server& of) {
      scope work{co_await coro::this_environment()};
      work.spawn(call(s));
      co_await service.waits;
      of.stop();
      co_await work.join();
      service.waiting.resume();
      co_await service.over;
    }
    static task<> call(echo_stub s) {
      const echo::Text request = text("stays");
      const auto reply = co_await s.Say(request);
      EXPECT_EQ(reply.status().code(), status_code::unavailable);
    }
  };
  run(program::stop(stub(), service, *server_));
  EXPECT_EQ(service.seen, "stays stays");
}

}  // namespace
}  // namespace coracle::testing_support::message_reuse_test
