// The code of docs/reference/comparison.md: what people write here who come from other projects.
#include "movie.coracle.hpp"

#include "coracle/client.hpp"
#include "coracle/client/channel_pool.hpp"
#include "coracle/coro/when_any.hpp"
#include "coracle/runtime.hpp"
#include "coracle/server.hpp"
#include "coracle/testing/service_fixture.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace comparison_page {
namespace {

using namespace std::chrono_literals;
using movies_stub = movie::rpc::MovieService::stub;

class shelf final : public movie::rpc::MovieService::service {
  coracle::reply<movie::AddMovieResponse> AddMovie(coracle::server_context&,
                                                   const movie::Movie& movie) override {
    movie::AddMovieResponse reply;
    reply.set_movie_id("id of " + movie.title());
    co_return reply;
  }
  coracle::replies<movie::Movie> ListMovies(coracle::server_context&,
                                            const movie::ListMoviesRequest&) override {
    movie::Movie movie;
    movie.set_title("Alien");
    co_yield movie;
    co_await coracle::sleep_for(1h);
    co_return coracle::ok;
  }
};

movie::Movie named(const std::string& title) {
  movie::Movie movie;
  movie.set_title(title);
  return movie;
}

// --8<-- [start:asio_grpc]
coracle::task<std::string> first_title(movies_stub movies, coracle::duration limit) {
  auto call = movies.ListMovies(movie::ListMoviesRequest());
  auto first = co_await coracle::when_any_settled(call.next(), coracle::sleep_for(limit));
  if (first.index() == 1) co_return "too late";  // the read was stopped and has consumed no message
  const auto movie = std::move(first).get<0>().value();
  co_return movie ? movie->title() : "none";
}
// --8<-- [end:asio_grpc]

// --8<-- [start:relay]
class relay final : public movie::rpc::MovieService::service {
 public:
  explicit relay(coracle::channel next) : next_(std::move(next)) {}

 private:
  coracle::reply<movie::AddMovieResponse> AddMovie(coracle::server_context&,
                                                   const movie::Movie& movie) override {
    co_return co_await next_.AddMovie(movie);  // a result<T>: the reply, or the status of the next server
  }

  movies_stub next_;
};

coracle::task<std::string> add(coracle::channel_pool& pool, std::string address, movie::Movie movie) {
  const movies_stub movies(pool.get(address, coracle::insecure()));
  const auto reply = co_await movies.AddMovie(movie, coracle::within(5s));
  co_return reply ? reply->movie_id() : reply.status().to_string();
}
// --8<-- [end:relay]

// --8<-- [start:gather]
coracle::task<coracle::result<movie::AddMovieResponse>> add_one(movies_stub movies, std::string title) {
  movie::Movie movie;
  movie.set_title(std::move(title));
  co_return co_await movies.AddMovie(movie, coracle::within(10s));
}

coracle::task<std::size_t> add_all(movies_stub movies, std::vector<std::string> titles) {
  std::vector<coracle::task<coracle::result<movie::AddMovieResponse>>> calls;
  for (const std::string& title : titles) calls.push_back(add_one(movies, title));
  coracle::as_completed<coracle::result<movie::AddMovieResponse>> all{
      co_await coracle::coro::this_environment(), std::move(calls)};
  std::size_t added = 0;
  while (auto done = co_await all.next()) {  // in the order in which they end
    const auto& reply = done->value();
    if (reply && reply->movie_id() == "id of " + titles[done->index()]) ++added;
  }
  co_return added;
}
// --8<-- [end:gather]

// --8<-- [start:tinycoro]
coracle::task<> produce(coracle::queue<int>& numbers, coracle::event<>& begin) {
  co_await begin;
  for (int n = 1; n <= 10; ++n) {
    const bool sent = co_await numbers.send(n);  // waits while the queue is full
    if (!sent) break;                            // the queue was closed
  }
  numbers.close();
}

coracle::task<> sum_up(coracle::queue<int>& numbers, coracle::mutex& lock, int& sum) {
  while (const std::optional<int> n = co_await numbers.receive()) {
    const coracle::mutex::guard held = co_await lock.lock();
    sum += *n;
  }
}

int sum_on_two_loops() {
  coracle::runtime runtime(2);  // two threads, each with a loop
  coracle::queue<int> numbers(4, runtime.at(0));
  coracle::mutex lock(runtime.at(0));
  coracle::event<> begin(runtime.at(0));
  int sum = 0;
  runtime.spawn(produce(numbers, begin));
  runtime.spawn_on(runtime.at(0), sum_up(numbers, lock, sum));
  runtime.spawn_on(runtime.at(1), sum_up(numbers, lock, sum));
  begin.set();
  runtime.run();  // returns when no task is left
  return sum;
}
// --8<-- [end:tinycoro]

// --8<-- [start:movie_client]
std::string add_movie(const coracle::channel& channel, const std::string& title) {
  const movies_stub movies(channel);
  movie::Movie movie;
  movie.set_title(title);
  const auto reply = coracle::sync_wait(movies.AddMovie(movie, coracle::within(1s)));
  if (reply.status().code() == coracle::status_code::deadline_exceeded) return "too late";
  return reply ? reply->movie_id() : reply.status().to_string();
}
// --8<-- [end:movie_client]

TEST(Comparison, CallsAreMadeOneByOneAndAtOnce) {
  coracle::testing::service_fixture<shelf> fixture;
  EXPECT_EQ(add_movie(fixture.channel(), "Alien"), "id of Alien");
  const movies_stub movies(fixture.channel());
  const std::vector<std::string> titles = {"Alien", "Brazil", "Casablanca"};
  EXPECT_EQ(coracle::sync_wait(fixture.runtime(), add_all(movies, titles)), 3u);
  EXPECT_EQ(coracle::sync_wait(fixture.runtime(), first_title(movies, 1h)), "Alien");
}

TEST(Comparison, ARelayPassesRepliesOn) {
  coracle::testing::service_fixture<shelf> last;
  coracle::testing::service_fixture<relay> middle(last.runtime(), last.channel());
  EXPECT_EQ(add_movie(middle.channel(), "Alien"), "id of Alien");
}

TEST(Comparison, APoolMakesAChannelOfAnAddress) {
  shelf service;
  coracle::runtime runtime;
  coracle::server server(runtime);
  server.add(service);
  ASSERT_TRUE(server.listen("127.0.0.1:0", coracle::insecure()).ok());
  coracle::channel_pool pool(runtime);
  const std::string address = "127.0.0.1:" + std::to_string(server.port());
  EXPECT_EQ(coracle::sync_wait(runtime, add(pool, address, named("Alien"))), "id of Alien");
  EXPECT_EQ(pool.size(), 1u);
}

TEST(Comparison, TasksOnTwoLoopsAddUp) { EXPECT_EQ(sum_on_two_loops(), 55); }

}  // namespace
}  // namespace comparison_page
