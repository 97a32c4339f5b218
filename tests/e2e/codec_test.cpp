// Calls whose messages are not in protobuf's binary format, and the limits of sent messages.
#include "support/echo_fixture.hpp"
#include "support/misuse.hpp"

#include "coracle/rpc/message_codec.hpp"

#include <google/protobuf/message.h>

#include <stdexcept>

namespace coracle::testing_support::codec_test {
namespace {

// "text" in brackets; rejects a text that requests it.
class bracket_codec final : public message_codec {
 public:
  [[nodiscard]] std::string_view name() const noexcept override { return "brackets"; }
  status write(const google::protobuf::Message& message, std::string& to) const override {
    const auto& text = static_cast<const echo::Text&>(message).text();
    if (text == "unwritable") return status::internal("brackets cannot hold it");
    to.append("[").append(text).append("]");
    ++written;
    return {};
  }
  status read(google::protobuf::Message& message, bytes_view from) const override {
    const std::string_view text = as_text(from);
    if (text.size() < 2 || text.front() != '[') return status::internal("no brackets");
    static_cast<echo::Text&>(message).set_text(std::string(text.substr(1, text.size() - 2)));
    ++read_;
    return {};
  }
  mutable std::atomic<int> written{0};
  mutable std::atomic<int> read_{0};
};

class codecs : public echo_fixture {
 protected:
  static task<result<echo::Text>> say(echo_stub s, std::string content, call_options options) {
    const echo::Text request = text(std::move(content), 7);
    co_return co_await s.Say(request, options);
  }
  static task<int> repeat(echo_stub s, std::string content, call_options options) {
    const echo::Text request = text(content, 3);
    auto call = s.Repeat(request, options);
    int seen = 0;
    while (const auto one = (co_await call.next()).value()) {
      EXPECT_EQ(one->text(), content);
      EXPECT_EQ(one->count(), seen++);
    }
    co_return seen;
  }
  static task<result<echo::Text>> collect(echo_stub s, call_options options) {
    auto call = s.Collect(options);
    const status one = co_await call.write(text("one "));
    if (one.ok()) (void)co_await call.write(text("two"));
    co_return co_await call.finish();
  }
  static task<std::string> chat(echo_stub s, call_options options) {
    auto call = s.Chat(options);
    (co_await call.write(text("to"))).throw_if_error();
    std::string seen = (co_await call.next()).value()->text();
    (co_await call.write(text(" and fro"))).throw_if_error();
    seen += (co_await call.next()).value()->text();
    const status outcome = co_await call.finish();
    EXPECT_EQ(outcome, status());
    co_return seen;
  }
  static task<status> write_to_chat(echo_stub s, std::string content, call_options options) {
    auto call = s.Chat(options);
    const echo::Text message = text(std::move(content));
    const status written = co_await call.write(message);
    const status outcome = co_await call.finish();
    EXPECT_EQ(written, outcome);
    co_return outcome;
  }
  bracket_codec brackets_;
};
INSTANTIATE_TEST_SUITE_P(Everywhere, codecs, every_world_over_tcp, echo_fixture::case_name);

TEST_P(codecs, CallsOfAllKindsSpeakJsonWithAServerThatKnowsIt) {
  server_options options;
  options.codecs.push_back(&json_codec());
  make_server(options);
  call_options json;
  json.codec = &json_codec();
  const auto reply = run(say(stub(), "a \"quoted\" text", json));
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(reply->text(), "a \"quoted\" text");
  EXPECT_EQ(reply->count(), 7);
  EXPECT_EQ(run(repeat(stub(), "again", json)), 3);
  const auto joined = run(collect(stub(), json));
  ASSERT_TRUE(joined.ok()) << joined.status();
  EXPECT_EQ(joined->text(), "one two");
  EXPECT_EQ(run(chat(stub(), json)), "to and fro");
}

TEST_P(codecs, ACallMayUseTheBinaryFormatBesideOthers) {
  server_options options;
  options.codecs.push_back(&json_codec());
  options.codecs.push_back(&brackets_);
  make_server(options);
  call_options with_codec;
  with_codec.codec = &json_codec();
  EXPECT_TRUE(run(say(stub(), "json", with_codec)).ok());
  EXPECT_TRUE(run(say(stub(), "binary", {})).ok());
  call_options with_codec_2;
  with_codec_2.codec = &brackets_;
  EXPECT_TRUE(run(say(stub(), "brackets", with_codec_2)).ok());
  EXPECT_EQ(brackets_.written, 2);
  EXPECT_EQ(brackets_.read_, 2);
}

TEST_P(codecs, AServerThatDoesNotKnowTheCodecAnswersWithHttpStatus415) {
  call_options with_codec;
  with_codec.codec = &json_codec();
  const auto reply = run(say(stub(), "json", with_codec));
  EXPECT_EQ(reply.status().code(), status_code::unknown);
  EXPECT_NE(reply.status().message().find("415"), std::string_view::npos) << reply.status();
}

TEST(CodecsOfAServer, MustNotBeNull) {
  runtime rt(1);
  server_options options;
  options.codecs = {&json_codec(), nullptr};
  test::expect_misuse([&] { server(rt, options); }, "server_options::codecs has a null pointer");
}

TEST_P(codecs, AMessageThatACodecCannotWriteEndsTheCallWithItsStatus) {
  server_options options_2;
  options_2.codecs.push_back(&brackets_);
  make_server(options_2);
  call_options options;
  options.codec = &brackets_;
  const status reason = status::internal("brackets cannot hold it");
  EXPECT_EQ(run(say(stub(), "unwritable", options)).status(), reason);
  EXPECT_EQ(run(write_to_chat(stub(), "unwritable", options)), reason);
  EXPECT_EQ(brackets_.read_, 0);
}

TEST_P(codecs, AMessageThatDoesNotParseAsTheCallsCodecIsInternal) {
  // A client and a server with different codecs of the same name.
  class other final : public message_codec {
   public:
    [[nodiscard]] std::string_view name() const noexcept override { return "brackets"; }
    status write(const google::protobuf::Message&, std::string& to) const override {
      to = "nothing of the kind";
      return {};
    }
    status read(google::protobuf::Message&, bytes_view) const override { return {}; }
  };
  server_options options;
  options.codecs.push_back(&brackets_);
  make_server(options);
  const other not_brackets;
  call_options with_codec;
  with_codec.codec = &not_brackets;
  EXPECT_EQ(run(say(stub(), "x", with_codec)).status(), status::internal("no brackets"));
}

// A few KB of gzip hold more values than a loop may convert in one step.
TEST_P(codecs, AMessageInJsonWithTooManyValuesIsResourceExhausted) {
  class many_values final : public message_codec {
   public:
    [[nodiscard]] std::string_view name() const noexcept override { return "json"; }
    status write(const google::protobuf::Message&, std::string& to) const override {
      to = R"({"text":"a","nothing":[)";
      for (std::size_t i = 1; i < values; ++i) to += "{},";
      to += "{}]}";
      return {};
    }
    status read(google::protobuf::Message& m, bytes_view from) const override {
      return json_codec().read(m, from);
    }
    std::size_t values = 0;
  };
  server_options options;
  options.codecs.push_back(&json_codec());
  make_server(options);
  many_values values;
  call_options with_codec;
  with_codec.codec = &values;
  for (const encoding e : {encoding::identity, encoding::gzip}) {
    with_codec.compression = compression(e);
    values.values = 30'000;
    const auto few = run(say(stub(), "", with_codec));
    ASSERT_EQ(few.status(), status());
    EXPECT_EQ(few->text(), "a");
    values.values = 1'000'000;
    const status many = run(say(stub(), "", with_codec)).status();
    EXPECT_EQ(many.code(), status_code::resource_exhausted) << many;
    EXPECT_NE(many.message().find("a message in JSON has too many values"), std::string_view::npos) << many;
  }
}

TEST_P(codecs, AMessageLargerThanAClientMaySendIsNotSent) {
  call_options narrow;
  narrow.max_send_bytes = 100;
  EXPECT_TRUE(run(say(stub(), std::string(90, 'x'), narrow)).ok());
  EXPECT_EQ(run(say(stub(), std::string(100, 'x'), narrow)).status().code(), status_code::resource_exhausted);
  EXPECT_EQ(run(write_to_chat(stub(), std::string(100, 'x'), narrow)).code(),
            status_code::resource_exhausted);
}

TEST_P(codecs, AReplyLargerThanAServerMaySendEndsTheCall) {
  server_options options;
  options.max_send_bytes = 100;
  options.codecs.push_back(&json_codec());
  make_server(options);
  EXPECT_TRUE(run(say(stub(), std::string(90, 'x'), {})).ok());
  EXPECT_EQ(run(say(stub(), std::string(100, 'x'), {})).status().code(), status_code::resource_exhausted);
  call_options with_codec;
  with_codec.codec = &json_codec();
  EXPECT_EQ(run(say(stub(), std::string(100, 'x'), with_codec)).status().code(),
            status_code::resource_exhausted);
  try {
    run(repeat(stub(), std::string(100, 'x'), {}));
    ADD_FAILURE() << "a stream of replies went through";
  } catch (const status_error& e) {
    EXPECT_EQ(e.status().code(), status_code::resource_exhausted);
  }
}

// Throws when the test says so.
class throwing_codec final : public message_codec {
 public:
  explicit throwing_codec(bool writing, bool reading) : writing_(writing), reading_(reading) {}
  [[nodiscard]] std::string_view name() const noexcept override { return "brackets"; }
  status write(const google::protobuf::Message& message, std::string& to) const override {
    if (writing_) throw std::runtime_error("cannot write");
    return brackets_.write(message, to);
  }
  status read(google::protobuf::Message& message, bytes_view from) const override {
    if (reading_) throw std::runtime_error("cannot read");
    return brackets_.read(message, from);
  }

 private:
  bracket_codec brackets_;
  bool writing_;
  bool reading_;
};

TEST_P(codecs, OneThatThrowsEndsItsCallAndNothingElse) {
  const status reason = status::internal("the codec brackets threw an exception");
  const throwing_codec writer(true, false);
  const throwing_codec reader(false, true);
  for (const throwing_codec* one : {&writer, &reader}) {
    server_options options;
    options.codecs.push_back(&brackets_);
    make_server(options);
    call_options by_client;
    by_client.codec = one;
    EXPECT_EQ(run(say(stub(), "x", by_client)).status(), reason);
    EXPECT_EQ(run(collect(stub(), by_client)).status(), reason);
    call_options with_codec;
    with_codec.codec = &brackets_;
    EXPECT_TRUE(run(say(stub(), "well", with_codec)).ok());

    server_options options_2;
    options_2.codecs.push_back(one);
    make_server(options_2);
    call_options by_server;
    by_server.codec = &brackets_;
    EXPECT_EQ(run(say(stub(), "x", by_server)).status(), reason);
    EXPECT_EQ(run(collect(stub(), by_server)).status(), reason);
    EXPECT_TRUE(run(say(stub(), "well", {})).ok());
  }
}

}  // namespace
}  // namespace coracle::testing_support::codec_test
