// Calls of a client that differ only in their messages, and other calls between them: each handler sees the
// headers of its own call, and each caller those of its own response, even if they were not parsed again.
#include "hpack/decoder.hpp"
#include "http2/frame.hpp"
#include "support/echo_fixture.hpp"
#include "support/raw_frames.hpp"

#include "coracle/net/stream.hpp"

#include <chrono>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace coracle::testing_support::repeated_calls_test {
namespace {

using namespace std::chrono_literals;

class telling_service final : public echo_service {
 public:
  reply<echo::Text> Say(server_context& context, const echo::Text& request) override {
    return reply_to("Say", context, request);
  }
  reply<echo::Text> SayAtOnce(server_context& context, const echo::Text& request) override {
    return reply_to("SayAtOnce", context, request);
  }
  // Ends with the code that the text begins with. A letter after it adds metadata.
  reply<echo::Text> Misbehave(server_context& context, const echo::Text& request) override {
    const std::string& text = request.text();
    if (text.find('i') != std::string::npos) context.initial_metadata().add("x-initial", text);
    if (text.find('t') != std::string::npos) context.trailing_metadata().add("x-trailing", text);
    const auto code = static_cast<status_code>(std::stoi(text));
    if (code == status_code::ok) co_return request;
    co_return status(code, text.find('m') != std::string::npos ? text : "no");
  }

 private:
  static echo::Text reply_to(const char* method, server_context& context, const echo::Text& request) {
    std::string all = method;
    for (const auto field : context.metadata())
      if (field.name.starts_with("x-")) all.append(" ").append(field.name).append("=").append(field.value);
    if (context.deadline() != never) {
      const duration left = context.deadline() - loop::current()->now();
      all.append(" in ")
          .append(std::to_string(std::chrono::round<std::chrono::minutes>(left).count()))
          .append(" min");
    }
    echo::Text reply;
    reply.set_text(all.append(": ").append(request.text()));
    return reply;
  }
};

class repeated_calls : public echo_fixture {
 protected:
  [[nodiscard]] service& served() noexcept override { return telling_; }
  std::string say(const std::string& text, const call_options& options = {}) {
    return run(ask([](echo_stub s, const echo::Text& t, const call_options& o) { return s.Say(t, o); }, text,
                   options));
  }
  std::string say_at_once(const std::string& text, const call_options& options = {}) {
    return run(ask([](echo_stub s, const echo::Text& t, const call_options& o) { return s.SayAtOnce(t, o); },
                   text, options));
  }

 private:
  template <class Method>
  task<std::string> ask(Method method, std::string content, call_options options) {
    const echo::Text request = text(std::move(content));
    const auto reply = co_await method(stub(), request, options);
    co_return reply ? reply->text() : std::string(reply.status().message());
  }
  telling_service telling_;
};

TEST_P(repeated_calls, SayWhatTheySay) {
  const auto with = [](const char* key, const char* value) {
    return call_options().add_metadata(key, value);
  };
  for (int i = 0; i < 5; ++i) {
    const std::string n = std::to_string(i);
    EXPECT_EQ(say(n, with("x-a", "1")), "Say x-a=1: " + n);
  }
  EXPECT_EQ(say_at_once("b", with("x-a", "1")), "SayAtOnce x-a=1: b");
  for (int i = 0; i < 3; ++i) EXPECT_EQ(say("c", with("x-a", "2")), "Say x-a=2: c");
  for (int i = 0; i < 3; ++i) EXPECT_EQ(say("d", with("x-b", "1")), "Say x-b=1: d");
  for (int i = 0; i < 3; ++i) EXPECT_EQ(say("e"), "Say: e");
  call_options in_time = with("x-a", "1");
  in_time.timeout = 5min;
  for (int i = 0; i < 4; ++i) EXPECT_EQ(say("f", in_time), "Say x-a=1 in 5 min: f");
  EXPECT_EQ(say("g", with("x-a", "1")), "Say x-a=1: g");
}

TEST_P(repeated_calls, SayBytesToo) {
  const std::string bytes("\0\x01", 2);
  const call_options o = call_options().add_metadata("x-bytes-bin", bytes);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(say("a", o), "Say x-bytes-bin=" + bytes + ": a");
}

// Values that differ in each call, in calls whose other headers repeat.
TEST_P(repeated_calls, SayWhatVaries) {
  for (int i = 1; i <= 12; ++i) {
    call_options o = call_options().add_metadata("x-a", "1").add_metadata("x-id", std::to_string(1000 + i));
    o.timeout = i * 10min;
    o.add_metadata("x-b", "2");
    const std::string n = std::to_string(i);
    EXPECT_EQ(say(n, o), "Say x-a=1 x-id=" + std::to_string(1000 + i) + " x-b=2 in " + n + "0 min: " + n);
  }
}

TEST_P(repeated_calls, SayBytesThatVary) {
  for (int i = 0; i < 12; ++i) {
    const std::string bytes(1, static_cast<char>(i));
    EXPECT_EQ(say("a", call_options().add_metadata("x-bytes-bin", bytes).add_metadata("x-c", "d")),
              "Say x-bytes-bin=" + bytes + " x-c=d: a");
  }
}

TEST_P(repeated_calls, SaySeveralValuesOfOneKeyOfWhichOneVaries) {
  for (int i = 0; i < 8; ++i) {
    const std::string n = std::to_string(i);
    EXPECT_EQ(
        say("a", call_options().add_metadata("x-a", "1").add_metadata("x-a", n).add_metadata("x-a", "3")),
        "Say x-a=1 x-a=" + n + " x-a=3: a");
  }
}

// More values that vary, and more methods, than are recognized.
TEST_P(repeated_calls, SayHoweverManyValuesVary) {
  for (int i = 0; i < 30; ++i) {
    call_options o;
    std::string all;
    for (int k = 0; k < 7; ++k) {
      const std::string key = "x-" + std::to_string(k);
      o.add_metadata(key, std::to_string(i * k));
      all.append(" ").append(key).append("=").append(std::to_string(i * k));
    }
    EXPECT_EQ(i % 2 == 0 ? say("a", o) : say_at_once("a", o),
              (i % 2 == 0 ? "Say" : "SayAtOnce") + all + ": a");
  }
}

TEST_P(repeated_calls, AreAnsweredEachByItsOwn) {
  struct response {
    bool ok = false;
    status outcome;
    std::string initial, trailing;
  };
  const auto ask = [](echo_stub s, std::string content) -> task<response> {
    const echo::Text request = text(std::move(content));
    auto call = s.Misbehave(request);
    const auto reply = co_await call;
    co_return response{reply.ok(), reply.status(),
                       std::string(call.initial_metadata().find("x-initial").value_or("")),
                       std::string(call.trailing_metadata().find("x-trailing").value_or(""))};
  };
  const auto expected = [](const std::string& word, char letter) {
    return word.find(letter) != std::string::npos ? word : std::string();
  };
  for (const char* word :
       {"0",     "0",    "0",    "0", "5",    "5",    "5",    "5 m1", "5 m2", "0",     "0 i1",
        "0 i1",  "0 i1", "0 i2", "0", "0 t1", "0 t1", "0 t1", "0 t2", "0",    "13 it", "13 it",
        "13 it", "13",   "0",    "7", "0",    "7",    "0",    "7",    "0",    "16",    "0"}) {
    const response r = run(ask(stub(), word));
    const auto code = static_cast<status_code>(std::stoi(word));
    EXPECT_EQ(r.ok, code == status_code::ok) << word;
    EXPECT_EQ(r.outcome,
              code == status_code::ok ? status() : status(code, expected(word, 'm').empty() ? "no" : word));
    EXPECT_EQ(r.initial, r.ok ? expected(word, 'i') : "") << "an error comes with trailers alone";
    EXPECT_EQ(r.trailing, expected(word, 't'));
  }
}

// A client that sends these header fields as literals in each call; returns the grpc-status of each call.
task<std::string> statuses_of(std::string address, std::vector<std::pair<std::string, std::string>> fields) {
  using namespace std::string_literals;
  auto connected = co_await net::stream::connect(net::address::parse(address).value());
  net::stream s = std::move(connected).value();
  std::string content = raw_frames::greeting();
  int id = 1;
  for (const auto& [name, value] : fields) {
    std::string block;
    for (const auto& [n, v] :
         std::vector<std::pair<std::string, std::string>>{{":method", "POST"},
                                                          {":scheme", "http"},
                                                          {":path", "/echo.Echo/Say"},
                                                          {":authority", "h"},
                                                          {"te", "trailers"},
                                                          {"content-type", "application/grpc"},
                                                          {name, value}})
      block += raw_frames::literal(n, v);
    content += raw_frames::frame(raw_frames::headers, raw_frames::end_headers, id, block) +
               raw_frames::frame(raw_frames::data, raw_frames::end_stream, id, std::string(5, '\0'));
    id += 2;
  }
  EXPECT_EQ(co_await s.write(as_bytes(content)), status());
  hpack::decoder decoder;
  std::map<std::uint32_t, std::string> statuses;  // by stream
  std::string received;
  std::uint8_t bytes[4096];
  for (std::size_t ended = 0; ended < fields.size();) {
    const auto got = co_await s.read(bytes);
    if (!got || *got == 0) co_return "the connection ended";
    received.append(reinterpret_cast<const char*>(bytes), *got);
    while (received.size() >= http2::frame_header_bytes) {
      const http2::frame_header f = http2::read_frame_header(as_bytes(received).data());
      if (received.size() < http2::frame_header_bytes + f.length) break;
      if (f.type == http2::frame_type::headers) {
        decoder.start(as_bytes(received).subspan(http2::frame_header_bytes, f.length));
        while (decoder.next() == hpack::decoder::step::field)
          if (decoder.current().name == "grpc-status") statuses[f.id] = decoder.current().value;
      }
      ended += f.type == http2::frame_type::headers && f.has(http2::flag::end_stream);
      received.erase(0, http2::frame_header_bytes + f.length);
    }
  }
  std::string all;
  for (const auto& [stream, code] : statuses) all.append(code).append(" ");
  co_return all;
}

class repeated_raw_calls : public repeated_calls {};

TEST_P(repeated_raw_calls, OfWhichOneIsWrongEndAloneWithItsStatus) {
  EXPECT_EQ(run(statuses_of(address_, {{"grpc-timeout", "1H"},
                                       {"grpc-timeout", "2H"},
                                       {"grpc-timeout", "3H"},
                                       {"grpc-timeout", "4H"},
                                       {"grpc-timeout", "5x"},
                                       {"grpc-timeout", "0n"},
                                       {"grpc-timeout", "6H"}})),
            "0 0 0 0 13 4 0 ");
  EXPECT_EQ(run(statuses_of(address_, {{"x-bin", "AAAA"},
                                       {"x-bin", "BBBB"},
                                       {"x-bin", "CCCC"},
                                       {"x-bin", "DDDD"},
                                       {"x-bin", "!"},
                                       {"x-bin", "EEEE,FFFF"},
                                       {"x-bin", "GGGG"}})),
            "0 0 0 0 13 0 0 ");
}

INSTANTIATE_TEST_SUITE_P(OverTcp, repeated_raw_calls, every_world_over_tcp, echo_fixture::case_name);
INSTANTIATE_TEST_SUITE_P(Everywhere, repeated_calls, every_world_and_link, echo_fixture::case_name);

}  // namespace
}  // namespace coracle::testing_support::repeated_calls_test
