// The code of docs/guides/errors.md, interceptors.md, messages.md and retries.md.
// --8<-- [start:includes]
#include "movie.coracle.hpp"  // generated from movie.proto

#include "coracle/client.hpp"
#include "coracle/server.hpp"
// --8<-- [end:includes]
#include "coracle/client/generic_stub.hpp"
#include "coracle/rpc/message_codec.hpp"
#include "coracle/testing/service_fixture.hpp"
#include "movie.coracle.fake.hpp"

#include <google/protobuf/arena.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace calls_page {
namespace {

// --8<-- [start:names]
using namespace std::chrono_literals;
using movies_stub = movie::rpc::MovieService::stub;
// --8<-- [end:names]
using faked = coracle::testing::service_fixture<movie::rpc::MovieServiceFake>;

movie::Movie named(std::string title) {
  movie::Movie m;
  m.set_title(std::move(title));
  return m;
}

// --- errors.md

class strict final : public movie::rpc::MovieService::service {
  // --8<-- [start:with_details]
  coracle::reply<movie::AddMovieResponse> AddMovie(coracle::server_context&,
                                                   const movie::Movie& movie) override {
    if (movie.title().empty()) {
      co_return coracle::with_details(coracle::status::invalid_argument("a title is needed"),
                                      coracle::error_info("NO_TITLE", "movies.example"),
                                      coracle::bad_request().field("movie.title", "is empty"));
    }
    co_return movie::AddMovieResponse();
  }
  // --8<-- [end:with_details]
};

// --8<-- [start:find_detail]
coracle::task<coracle::status> add(movies_stub movies, movie::Movie movie) {
  const auto reply = co_await movies.AddMovie(movie);
  const auto failure = coracle::find_detail<coracle::error_info>(reply.status());
  if (failure && failure->reason() == "NO_TITLE") movie.set_title("Untitled");
  if (const auto wait = coracle::find_detail<coracle::retry_info>(reply.status()))
    co_await coracle::sleep_for(wait->delay());
  const auto again = co_await movies.AddMovie(movie);
  co_return again.status();
}
// --8<-- [end:find_detail]

// --- interceptors.md

class quota {
 public:
  explicit quota(int left) : left_(left) {}
  coracle::task<bool> take(const coracle::net::address&) { co_return left_.fetch_sub(1) > 0; }

 private:
  std::atomic<int> left_;
};

// --8<-- [start:limiter]
class limiter final : public coracle::server_interceptor {
 public:
  explicit limiter(std::shared_ptr<quota> q) : quota_(std::move(q)) {}
  coracle::task<coracle::status> intercept(coracle::server_context& context,
                                           coracle::next_handler next) override {
    const bool let_in = co_await quota_->take(context.peer());
    if (!let_in) co_return coracle::status::resource_exhausted("slow down");
    const coracle::status outcome = co_await next();  // the rest of the chain, and the handler
    context.trailing_metadata().add("x-served-by", "here");
    co_return outcome;  // or another status
  }

 private:
  std::shared_ptr<quota> quota_;
};
// --8<-- [end:limiter]

class counter final : public coracle::client_interceptor {
 public:
  coracle::task<coracle::status> intercept(coracle::client_context&, coracle::next_call next) override {
    ++calls_;
    co_return co_await next();
  }
  [[nodiscard]] int calls() const { return calls_; }

 private:
  std::atomic<int> calls_ = 0;
};

class agency final : public movie::rpc::MovieService::service {
 public:
  agency(coracle::channel next, coracle::channel audit) : next_(std::move(next)), audit_(std::move(audit)) {}

 private:
  // --8<-- [start:carried]
  coracle::reply<movie::AddMovieResponse> AddMovie(coracle::server_context& context,
                                                   const movie::Movie& movie) override {
    context.baggage().set("tenant", "acme");            // all servers further down can read it
    const auto reply = co_await next_.AddMovie(movie);  // sends the trace and the baggage
    // Sends neither, and inherits no deadline.
    coracle::call_options detached;
    detached.detached = true;
    const auto noted = co_await audit_.AddMovie(movie, detached);
    if (!noted) co_return noted.status();
    co_return reply;
  }
  // --8<-- [end:carried]
  const movies_stub next_;
  const movies_stub audit_;
};

// --- messages.md

// --8<-- [start:json_call]
coracle::task<coracle::status> add_in_json(movies_stub movies, movie::Movie movie) {
  coracle::call_options with_codec;
  with_codec.codec = &coracle::json_codec();
  const auto reply = co_await movies.AddMovie(movie, with_codec);
  co_return reply.status();
}
// --8<-- [end:json_call]

// --8<-- [start:bytes]
coracle::task<std::string> add_in_bytes(coracle::channel channel, std::string request) {
  const coracle::generic_stub any(channel);
  const coracle::bytes_message bytes(std::move(request));
  const auto reply = co_await any.unary("/movie.MovieService/AddMovie", bytes);
  co_return reply ? reply->bytes() : reply.status().to_string();
}
// --8<-- [end:bytes]

class built_in_place final : public movie::rpc::MovieService::service {
  // --8<-- [start:make_reply]
  coracle::reply<movie::AddMovieResponse> AddMovie(coracle::server_context& context,
                                                   const movie::Movie& movie) override {
    auto& reply = context.make_reply<movie::AddMovieResponse>();
    reply.set_movie_id(movie.id());
    co_return &reply;  // a pointer: sent from where it is
  }
  // --8<-- [end:make_reply]
};

// --8<-- [start:take]
class shelf final : public movie::rpc::MovieService::service {
  coracle::reply<movie::AddMovieResponse> AddMovie(coracle::server_context& context,
                                                   const movie::Movie& movie) override {
    movies_.push_back(context.take(movie));  // moves it; `movie` is empty from here on
    co_return movie::AddMovieResponse();
  }

  std::vector<movie::Movie> movies_;  // a server with several loops needs a mutex for it
};
// --8<-- [end:take]

// --8<-- [start:arena]
class catalog final : public movie::rpc::MovieService::service {
  [[nodiscard]] bool wants_arena() const noexcept override {
    return true;
  }  // requests are parsed into it, too

  coracle::reply<movie::AddMultipleMoviesResponse> AddMultipleMovies(
      coracle::server_context& context, coracle::reader<movie::Movie> requests) override {
    auto* const reply = movie::AddMultipleMoviesResponse::default_instance().New(&context.arena());
    while (const auto movie = co_await requests.next()) reply->add_movie_ids(movie->id());
    co_return reply;  // a pointer: sent from where it is
  }
};
// --8<-- [end:arena]

class packed final : public movie::rpc::MovieService::service {
  // --8<-- [start:compressed_reply]
  coracle::reply<movie::AddMovieResponse> AddMovie(coracle::server_context& context,
                                                   const movie::Movie&) override {
    context.compression(coracle::compression(coracle::encoding::zstd).level(9).min_bytes(4096));
    co_return movie::AddMovieResponse();
  }
  // --8<-- [end:compressed_reply]
};

// --8<-- [start:compressed_call]
coracle::task<coracle::status> add_compressed(movies_stub movies, movie::Movie movie) {
  coracle::call_options compressed;
  compressed.compression = coracle::encoding::gzip;
  const auto reply = co_await movies.AddMovie(movie, compressed);
  co_return reply.status();
}
// --8<-- [end:compressed_call]

// --- retries.md

// --8<-- [start:policy]
coracle::channel_options patient() {
  const auto config = coracle::service_config::parse(R"({
    "methodConfig": [{
      "name": [{"service": "movie.MovieService", "method": "AddMovie"}],
      "timeout": "2s",
      "retryPolicy": {
        "maxAttempts": 4, "initialBackoff": "0.1s", "maxBackoff": "1s", "backoffMultiplier": 2,
        "retryableStatusCodes": ["UNAVAILABLE"]
      }
    }],
    "retryThrottling": {"maxTokens": 10, "tokenRatio": 0.1}
  })");
  coracle::channel_options options;
  options.service_config = config.value();  // value() throws what is wrong with it
  return options;
}
// --8<-- [end:policy]

TEST(GuideToErrors, ACallerMayMendWhatADetailNames) {
  coracle::testing::service_fixture<strict> fixture;
  EXPECT_EQ(coracle::sync_wait(fixture.runtime(), add(movies_stub(fixture.channel()), movie::Movie())),
            coracle::status());
}

TEST(GuideToInterceptors, TheyStandAroundCallsOnBothSides) {
  faked fixture;
  fixture.service().on.AddMovie.returns(movie::AddMovieResponse());
  fixture.server().add_interceptor(std::make_shared<limiter>(std::make_shared<quota>(1)));
  const auto log = std::make_shared<counter>();
  const auto token = std::make_shared<counter>();
  // --8<-- [start:chain]
  const coracle::channel counting = fixture.channel().with_interceptors({log, token});  // log is outermost
  const movie::rpc::MovieService::stub movies(counting);
  // --8<-- [end:chain]
  EXPECT_EQ(coracle::sync_wait(movies.AddMovie(named("Stalker"))).status(), coracle::status());
  EXPECT_EQ(coracle::sync_wait(movies.AddMovie(named("Stalker"))).status(),
            coracle::status::resource_exhausted("slow down"));
  EXPECT_EQ(log->calls() + token->calls(), 4);
}

TEST(GuideToInterceptors, BaggagePassesOnUnlessTheCallIsDetached) {
  faked next;
  faked audit(next.runtime());
  next.service().on.AddMovie.returns(movie::AddMovieResponse());
  audit.service().on.AddMovie.returns(movie::AddMovieResponse());
  coracle::testing::service_fixture<agency> fixture(next.runtime(), next.channel(), audit.channel());
  EXPECT_EQ(coracle::sync_wait(movies_stub(fixture.channel()).AddMovie(named("Red"))).status(),
            coracle::status());
  EXPECT_EQ(next.service().on.AddMovie.calls().front().metadata.find("baggage"), "tenant=acme");
  EXPECT_FALSE(audit.service().on.AddMovie.calls().front().metadata.find("baggage"));
}

TEST(GuideToMessages, FormsOfMessages) {
  movie::rpc::MovieServiceFake service;
  movie::AddMovieResponse seven;
  seven.set_movie_id("7");
  service.on.AddMovie.returns(seven);
  coracle::runtime runtime;
  // --8<-- [start:json_server]
  coracle::server_options options;
  options.codecs.push_back(&coracle::json_codec());
  coracle::server server(runtime, options);
  // --8<-- [end:json_server]
  server.add(service);
  coracle::channel channel(runtime, server.in_process());
  EXPECT_EQ(coracle::sync_wait(runtime, add_in_json(movies_stub(channel), named("Red"))), coracle::status());
  EXPECT_EQ(coracle::sync_wait(runtime, add_in_bytes(channel, named("Red").SerializeAsString())),
            seven.SerializeAsString());
}

TEST(GuideToMessages, ArenasAndCompression) {
  coracle::testing::service_fixture<catalog> listed;
  auto call = movies_stub(listed.channel()).AddMultipleMovies();
  coracle::sync_wait(call.write(named("Red"))).throw_if_error();
  EXPECT_EQ(coracle::sync_wait(call.finish())->movie_ids_size(), 1);
  coracle::testing::service_fixture<packed> fixture;
  EXPECT_EQ(
      coracle::sync_wait(fixture.runtime(), add_compressed(movies_stub(fixture.channel()), named("Red"))),
      coracle::status());
}

TEST(GuideToRetries, AChannelTakesAPolicy) {
  coracle::runtime runtime;
  const coracle::channel movies(runtime, "127.0.0.1:1", coracle::insecure(), patient());
  EXPECT_EQ(movies.state(), coracle::connectivity::idle);
}

}  // namespace
}  // namespace calls_page
