// Header blocks above the client's limit: they fail one call, whose code is kept, and no neighbour of it.
#include "unit/client/attempts_fixture.hpp"

#include "coracle/coro/scope.hpp"

#include <gmock/gmock.h>

namespace coracle::testing_support::large_headers_test {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// The block's size in frames is about that of the message.
transport::header_block failed(status_code code, std::size_t message_bytes, bool status_last = false) {
  transport::header_block b;
  const std::string message(message_bytes, 'x');
  if (!status_last) b.add("grpc-status", std::to_string(static_cast<int>(code)));
  b.add("x-trailer", "kept").add("grpc-message", message);
  if (status_last) b.add("grpc-status", std::to_string(static_cast<int>(code)));
  return b;
}

transport::header_block response_headers(std::size_t metadata_bytes = 0) {
  transport::header_block b;
  b.add(":status", "200");
  if (metadata_bytes != 0) b.add("x-large", std::string(metadata_bytes, 'y'));
  b.add("content-type", "application/grpc");
  return b;
}

class large_headers : public attempts_fixture {
 protected:
  // Several calls at once, the third of which gets the response of `script`.
  std::vector<answer> say_with_neighbours(const std::function<void(scripted_request&)>& script) {
    server_.script = [script](scripted_request& r) {
      r.when_complete = [script](scripted_request& c) {
        if (c.field("x-number") == "3") script(c);
        else if (c.field("x-number") == "1") return;
        else c.reply("well");
      };
    };
    std::vector<answer> all(6);
    const auto one = [](const channel& to, answer* into) -> task<> {
      *into = co_await say_through(to, "x", {});
    };
    const auto ask = [one](const channel& to, std::vector<answer>* into, scripted_server* server) -> task<> {
      scope work{co_await coro::this_environment()};
      for (answer& each : *into) work.spawn(one(to, &each));
      co_await sleep_for(1s);
      server->requests[0]->reply("late");
      co_await work.join();
    };
    run(ask(calls_, &all, &server_));
    return all;
  }
};

TEST_F(large_headers, ErrorKeepsItsCodeAtAnySize) {
  for (const std::size_t bytes : {17'000u, 60'000u, 80'000u, 200'000u, 1'000'000u}) {
    for (const bool status_last : {false, true}) {
      for (const bool trailers_only : {false, true}) {
        server_.script = [=](scripted_request& r) {
          transport::header_block b;
          if (trailers_only) b.append(response_headers().bytes());
          else r.send(response_headers(), false);
          r.send(b.append(failed(status_code::not_found, bytes, status_last).bytes()), true);
        };
        const answer a = say("x");
        EXPECT_EQ(a.outcome.code(), status_code::not_found) << bytes << a.outcome;
        const std::string message(a.outcome.message());
        EXPECT_THAT(message, StartsWith(std::string(1024, 'x') + " [the trailers of the response have "));
        EXPECT_THAT(message, HasSubstr(" bytes of fields, limit 16384: the rest was dropped]"));
        EXPECT_EQ(a.trailer, "kept");
      }
    }
  }
  EXPECT_EQ(server_.connections(), 1u);
}

TEST_F(large_headers, OkWithoutItsTrailersIsResourceExhausted) {
  retry(3, {status_code::unavailable, status_code::resource_exhausted});
  server_.script = [](scripted_request& r) {
    r.send(response_headers(), false);
    r.send_message("reply");
    r.send(failed(status_code::ok, 30'000), true);
  };
  const answer a = say("x");
  EXPECT_EQ(a.outcome.code(), status_code::resource_exhausted);
  EXPECT_THAT(
      std::string(a.outcome.message()),
      HasSubstr("the trailers of the response have 30133 bytes of fields, limit 16384: let the server"));
  EXPECT_EQ(server_.requests.size(), 1u) << "another attempt would end in the same way";
}

TEST_F(large_headers, ResponseHeadersFailTheCallAndLeaveAnErrorItsCode) {
  for (const status_code code : {status_code::ok, status_code::aborted}) {
    server_.script = [code](scripted_request& r) {
      r.send(response_headers(70'000), false);
      if (code == status_code::ok) r.send_message("reply");
      r.end(code);
    };
    const answer a = say("x");
    EXPECT_EQ(a.outcome.code(), code == status_code::ok ? status_code::resource_exhausted : code);
    EXPECT_THAT(std::string(a.outcome.message()),
                HasSubstr("the response headers have 70141 bytes of fields, limit 16384"));
  }
  EXPECT_EQ(server_.connections(), 1u);
}

TEST_F(large_headers, OfAStreamEndItAtOnce) {
  server_.script = [](scripted_request& r) { r.send(response_headers(20'000), false); };
  const auto read = [](const channel& to) -> task<status> {
    stream_call call(to, "/scripted.Service/Method", call_options());
    text reply;
    const auto more = co_await call.read(reply);
    co_return more.status();
  };
  EXPECT_EQ(run(read(calls_)).code(), status_code::resource_exhausted);
  world_.run_for(1s);
  EXPECT_TRUE(server_.requests.front()->cancelled);
}

TEST_F(large_headers, RetryPolicySeesTheServersCode) {
  retry(3);
  server_.script = [](scripted_request& r) {
    transport::header_block b;
    b.append(response_headers().bytes());
    r.send(b.append(failed(status_code::unavailable, 100'000).bytes()), true);
  };
  EXPECT_EQ(say("x").outcome.code(), status_code::unavailable);
  EXPECT_EQ(server_.requests.size(), 3u);
}

TEST_F(large_headers, DoNotHarmTheNeighboursOfTheirCall) {
  const auto all =
      say_with_neighbours([](scripted_request& r) { r.send(failed(status_code::not_found, 200'000), true); });
  for (std::size_t i = 0; i < all.size(); ++i)
    EXPECT_EQ(all[i].outcome.code(), i == 2 ? status_code::not_found : status_code::ok) << all[i].outcome;
  EXPECT_EQ(server_.connections(), 1u);
}

TEST_F(large_headers, AboveTheHardLimitAreNotTriedAgain) {
  retry(3, {status_code::unavailable, status_code::resource_exhausted});
  const auto all = say_with_neighbours([](scripted_request& r) {
    transport::header_block b;
    b.append(response_headers().bytes());
    r.send(b.append(failed(status_code::not_found, 2'000'000).bytes()), true);
  });
  EXPECT_EQ(all[2].outcome.code(), status_code::resource_exhausted) << all[2].outcome;
  EXPECT_THAT(std::string(all[2].outcome.message()),
              HasSubstr("exceeded a limit of the client: header block exceeds limits::header_block_bytes"));
  // The neighbours are tried again, except those whose response had begun. An attempt beyond the sixth
  // request gets a reply: the third call would have ended with OK.
  EXPECT_GT(server_.requests.size(), all.size());
  EXPECT_EQ(all[0].outcome, status());
}

TEST_F(large_headers, OfARequestAreNotSentIfTheServerDoesNotAcceptThem) {
  server_.limits.header_list_bytes = 1000;
  server_.script = [](scripted_request& r) { r.reply("well"); };
  EXPECT_EQ(say("x").outcome, status());
  const auto with_metadata = [&](std::size_t n) {
    call_options o;
    o.add_metadata("x-n", std::string(n, 'x'));
    return say("x", o).outcome;
  };
  const status refused = with_metadata(1000);
  EXPECT_EQ(refused.code(), status_code::resource_exhausted);
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr(" bytes of fields, and the server accepts 1000: send less"));
  EXPECT_EQ(server_.requests.size(), 1u);
  // The number in the message is exact.
  const std::string_view text = refused.message();
  const std::size_t others = std::stoul(std::string(text.substr(text.find("have ") + 5))) - 1000;
  EXPECT_EQ(with_metadata(1000 - others), status());
  EXPECT_EQ(with_metadata(1001 - others).code(), status_code::resource_exhausted);
  retry(3, {status_code::resource_exhausted});
  EXPECT_EQ(with_metadata(1001 - others).code(), status_code::resource_exhausted);
  EXPECT_EQ(server_.requests.size(), 2u);
}

}  // namespace
}  // namespace coracle::testing_support::large_headers_test
