// The code of docs/guides/deadlines.md.
// --8<-- [start:includes]
#include "movie.coracle.hpp"  // generated from movie.proto

#include "coracle/client.hpp"

#include <chrono>
// --8<-- [end:includes]
#include "coracle/coro/yield.hpp"
#include "coracle/server.hpp"
#include "coracle/testing/simulated_fixture.hpp"
#include "movie.coracle.fake.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace deadlines_page {
namespace {

// --8<-- [start:names]
using namespace std::chrono_literals;
using movies_stub = movie::rpc::MovieService::stub;
// --8<-- [end:names]
using simulated_fake = coracle::testing::simulated_fixture<movie::rpc::MovieServiceFake>;

movie::Movie named(std::string title) {
  movie::Movie m;
  m.set_title(std::move(title));
  return m;
}

// --8<-- [start:call]
coracle::task<coracle::status> add(movies_stub movies, movie::Movie movie) {
  const auto reply = co_await movies.AddMovie(movie, coracle::within(1s));
  co_return reply.status();  // DEADLINE_EXCEEDED after one second, even if the server does not respond
}
// --8<-- [end:call]

// --8<-- [start:several]
coracle::task<coracle::status> add_all(movies_stub movies, std::vector<movie::Movie> shelf) {
  for (const auto& movie : shelf) {
    const auto reply = co_await movies.AddMovie(movie);  // gets what is left of the two seconds
    if (!reply) co_return reply.status();
  }
  co_return coracle::ok;
}

coracle::task<coracle::status> add_all_in_time(movies_stub movies, std::vector<movie::Movie> shelf) {
  co_return co_await coracle::with_timeout(2s, add_all(movies, std::move(shelf)));
}
// --8<-- [end:several]

// --8<-- [start:step]
coracle::task<coracle::status> follow(movies_stub movies, int& seen) {
  auto call = movies.ListMovies(movie::ListMoviesRequest());
  co_await call.start();  // required: a call inherits the deadline of the await that begins it
  for (;;) {
    const auto next = co_await coracle::with_timeout(5s, call.next());
    if (!next.ok()) co_return next.status();  // the destructor of `call` cancels it
    if (!*next) co_return coracle::ok;  // the list has ended
    ++seen;
  }
}
// --8<-- [end:step]

// --8<-- [start:cancel]
coracle::task<coracle::status> change_ones_mind(movies_stub movies) {
  auto call = movies.WatchTogether();
  const movie::WatchTogetherRequest request;
  (co_await call.write(request)).throw_if_error();
  call.cancel();                    // tasks that wait on the call resume, and the handler is stopped
  co_return co_await call.finish();  // CANCELLED
}
// --8<-- [end:cancel]

// --8<-- [start:handler]
// Counts the viewers. The destructor runs however the handler ends.
class visit {
 public:
  explicit visit(int& inside) : inside_(inside) { ++inside_; }
  visit(const visit&) = delete;
  visit& operator=(const visit&) = delete;
  ~visit() { --inside_; }

 private:
  int& inside_;
};

class projector final : public movie::rpc::MovieService::service {
 public:
  [[nodiscard]] int audience() const { return audience_; }

 private:
  coracle::replies<movie::Movie> ListMovies(coracle::server_context& context,
                                            const movie::ListMoviesRequest&) override {
    if (context.deadline() - coracle::coro::this_executor().now() < 1s)
      co_return coracle::status::deadline_exceeded("the film takes longer");  // before any work is done
    const visit here(audience_);
    const movie::Movie reel;
    for (;;) {
      co_await coracle::sleep_for(1min);  // throws when the client disconnects or the deadline expires
      co_yield reel;  // throws in the same cases; `here` is destroyed in all of them
    }
  }
  int audience_ = 0;
};
// --8<-- [end:handler]

// --8<-- [start:busy]
class accountant final : public movie::rpc::MovieService::service {
  coracle::reply<movie::AddMovieResponse> AddMovie(coracle::server_context&, const movie::Movie&) override {
    movie::AddMovieResponse reply;
    int sum = 0;
    for (int page = 0; page < 1000; ++page) {
      sum += page;
      co_await coracle::yield();  // lets other calls run; throws when this call has ended
    }
    reply.set_movie_id(std::to_string(sum));
    co_return reply;
  }
};
// --8<-- [end:busy]

// --8<-- [start:detached]
class audited final : public movie::rpc::MovieService::service {
 public:
  explicit audited(coracle::channel journal) : journal_(std::move(journal)) {}

 private:
  coracle::reply<movie::AddMovieResponse> AddMovie(coracle::server_context&,
                                                   const movie::Movie& movie) override {
    // Continues even if the caller has given up.
    coracle::call_options detached;
    detached.detached = true;
    detached.timeout = 5s;
    co_return co_await journal_.AddMovie(movie, detached);
  }
  const movies_stub journal_;
};
// --8<-- [end:detached]

TEST(GuideToDeadlines, ACallEndsWithItsTime) {
  simulated_fake fixture(1);
  fixture.service().on.AddMovie = [](coracle::server_context&,
                                     const movie::Movie&) -> coracle::reply<movie::AddMovieResponse> {
    co_await coracle::sleep_for(1500ms);
    co_return movie::AddMovieResponse();
  };
  const movies_stub movies(fixture.channel());
  EXPECT_EQ(coracle::sync_wait(fixture.runtime(), add(movies, named("Stalker"))).code(),
            coracle::status_code::deadline_exceeded);

  const std::vector<movie::Movie> three = {named("Blue"), named("White"), named("Red")};
  EXPECT_EQ(coracle::sync_wait(fixture.runtime(), add_all_in_time(movies, three)).code(),
            coracle::status_code::deadline_exceeded);
  EXPECT_EQ(fixture.service().on.AddMovie.calls().size(),
            3u);  // White was under way, Red was never asked for
}

TEST(GuideToDeadlines, EachStepMayHaveItsOwnTime) {
  simulated_fake fixture(1);
  fixture.service().on.ListMovies = [](coracle::server_context&,
                                       const movie::ListMoviesRequest&) -> coracle::replies<movie::Movie> {
    const movie::Movie one;
    for (int i = 0; i < 3; ++i) {
      co_await coracle::sleep_for(4s);
      co_yield one;
    }
    co_await coracle::sleep_for(1h);
    co_return coracle::ok;
  };
  int seen = 0;
  const auto outcome = coracle::sync_wait(fixture.runtime(), follow(movies_stub(fixture.channel()), seen));
  EXPECT_EQ(outcome.code(), coracle::status_code::deadline_exceeded);
  EXPECT_EQ(seen, 3);
}

TEST(GuideToDeadlines, ACallMayBeCancelled) {
  simulated_fake fixture(1);
  const auto outcome =
      coracle::sync_wait(fixture.runtime(), change_ones_mind(movies_stub(fixture.channel())));
  EXPECT_EQ(outcome.code(), coracle::status_code::cancelled);
}

TEST(GuideToDeadlines, AHandlerEndsWithItsCall) {
  coracle::testing::simulated_fixture<projector> fixture(1);
  int seen = 0;
  struct program {
    static coracle::task<coracle::status> watch(movies_stub movies, int& films) {
      auto call = movies.ListMovies(movie::ListMoviesRequest(), coracle::within(150s));
      for (;;) {
        const auto next = co_await call.next();
        if (!next.ok()) co_return next.status();
        ++films;
      }
    }
  };
  const auto outcome =
      coracle::sync_wait(fixture.runtime(), program::watch(movies_stub(fixture.channel()), seen));
  EXPECT_EQ(outcome.code(), coracle::status_code::deadline_exceeded);
  EXPECT_EQ(seen, 2);
  fixture.world().run_for(1s);
  EXPECT_EQ(fixture.service().audience(), 0);

  const auto late = coracle::sync_wait(
      movies_stub(fixture.channel()).ListMovies(movie::ListMoviesRequest(), coracle::within(500ms)).finish());
  EXPECT_EQ(late, coracle::status::deadline_exceeded("the film takes longer"));
}

TEST(GuideToDeadlines, WorkYieldsAndTheJournalIsWritten) {
  simulated_fake journal(1);
  journal.service().on.AddMovie.returns(movie::AddMovieResponse());
  audited service(journal.channel());
  coracle::server server(journal.runtime());
  server.add(service);
  coracle::channel to(journal.runtime(), server.in_process());
  const auto reply = coracle::sync_wait(movies_stub(to).AddMovie(named("Stalker")));
  EXPECT_EQ(reply.status(), coracle::status());
  EXPECT_EQ(journal.service().on.AddMovie.calls().front().requests.front().title(), "Stalker");

  coracle::testing::simulated_fixture<accountant> busy(1);
  EXPECT_EQ(coracle::sync_wait(movies_stub(busy.channel()).AddMovie(named("Red")))->movie_id(), "499500");
}

}  // namespace
}  // namespace deadlines_page
