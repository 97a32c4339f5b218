// The code of docs/guides/blocking.md.
// --8<-- [start:includes]
#include "movie.coracle.hpp"  // generated from movie.proto

#include "coracle/client.hpp"

#include <chrono>
#include <cstdio>
#include <string>
// --8<-- [end:includes]
#include "coracle/server.hpp"
#include "coracle/testing/service_fixture.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <future>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace blocking_page {
namespace {

// --8<-- [start:names]
using namespace std::chrono_literals;
using movies_stub = movie::rpc::MovieService::stub;
// --8<-- [end:names]

// --8<-- [start:client]
int add_movie(const std::string& target, const std::string& title) {
  const coracle::channel channel(target, coracle::insecure());  // "localhost:50051"
  const movies_stub movies(channel);
  movie::Movie movie;
  movie.set_title(title);
  const auto reply = coracle::sync_wait(movies.AddMovie(movie, coracle::within(1s)));
  if (!reply) {
    std::fprintf(stderr, "AddMovie failed: %s\n", reply.status().to_string().c_str());
    return 1;
  }
  std::printf("added %s\n", reply->movie_id().c_str());
  return 0;
}
// --8<-- [end:client]

// --8<-- [start:streams]
int print_titles(movies_stub movies) {
  auto call = movies.ListMovies(movie::ListMoviesRequest(), coracle::within(5s));
  int count = 0;
  // value() throws status_error if the stream does not end with OK.
  while (const auto movie = coracle::sync_wait(call.next()).value()) {
    std::printf("%s\n", movie->title().c_str());
    ++count;
  }
  return count;
}

coracle::result<movie::AddMultipleMoviesResponse> upload(movies_stub movies,
                                                         const std::vector<movie::Movie>& all) {
  auto call = movies.AddMultipleMovies(coracle::within(5s));
  for (const movie::Movie& movie : all)
    if (!coracle::sync_wait(call.write(movie)).ok()) break;  // finish() returns the reason
  return coracle::sync_wait(call.finish());
}
// --8<-- [end:streams]

// --8<-- [start:threads]
int add_on_threads(coracle::channel channel, int threads, int calls_per_thread) {
  std::atomic<int> added = 0;
  std::vector<std::thread> workers;
  for (int i = 0; i < threads; ++i) {
    workers.emplace_back([channel, calls_per_thread, &added] {  // each thread has its own handle
      const movies_stub movies(channel);
      for (int n = 0; n < calls_per_thread; ++n)
        if (coracle::sync_wait(movies.AddMovie(movie::Movie(), coracle::within(1s)))) ++added;
    });
  }
  for (std::thread& worker : workers) worker.join();
  return added;
}
// --8<-- [end:threads]

// --8<-- [start:at_once]
coracle::task<bool> add(movies_stub movies, movie::Movie movie) {
  const auto reply = co_await movies.AddMovie(movie, coracle::within(1s));
  co_return reply.ok();
}

coracle::task<std::vector<bool>> add_all(movies_stub movies, std::vector<movie::Movie> all) {
  std::vector<coracle::task<bool>> calls;
  for (const movie::Movie& movie : all) calls.push_back(add(movies, movie));
  co_return co_await coracle::when_all(std::move(calls));
}

std::vector<bool> add_at_once(coracle::channel channel, std::vector<movie::Movie> all) {
  return coracle::sync_wait(channel.owner(), add_all(movies_stub(channel), std::move(all)));
}
// --8<-- [end:at_once]

// --8<-- [start:future]
using add_result = coracle::result<movie::AddMovieResponse>;

coracle::task<> fulfil(movies_stub movies, movie::Movie movie, std::promise<add_result> promise) {
  add_result reply = co_await movies.AddMovie(movie, coracle::within(1s));
  promise.set_value(std::move(reply));
}

std::future<add_result> add_later(coracle::channel channel, movie::Movie movie) {
  std::promise<add_result> promise;
  std::future<add_result> future = promise.get_future();
  channel.owner().spawn(fulfil(movies_stub(channel), std::move(movie), std::move(promise)));
  return future;
}
// --8<-- [end:future]

// --8<-- [start:handler]
class catalog final : public movie::rpc::MovieService::service {
 public:
  std::size_t size() {
    const std::lock_guard lock(mutex_);
    return titles_.size();
  }

 private:
  coracle::reply<movie::AddMovieResponse> AddMovie(coracle::server_context&,
                                                   const movie::Movie& movie) override {
    // Runs on a thread that may block, and resumes here.
    const int id = co_await coracle::offload(&catalog::store, this, movie.title());
    movie::AddMovieResponse reply;
    reply.set_movie_id(std::to_string(id));
    co_return reply;
  }

  int store(const std::string& title) {
    const std::lock_guard lock(mutex_);  // several threads run store() at the same time
    titles_.push_back(title);
    return static_cast<int>(titles_.size());
  }

  std::mutex mutex_;
  std::vector<std::string> titles_;
};
// --8<-- [end:handler]

// --8<-- [start:server]
void serve_while(const std::string& address, void (*work)(std::uint16_t port)) {
  catalog service;
  coracle::server server;
  server.add(service);
  server.listen(address, coracle::insecure()).throw_if_error();
  server.start();  // serves on threads of its own
  work(server.port());
}  // the destructor cancels the calls that still run, and waits for them
// --8<-- [end:server]

TEST(GuideToBlocking, ThreadsCallThroughOneChannel) {
  catalog service;
  coracle::server server;
  server.add(service);
  ASSERT_EQ(server.listen("127.0.0.1:0", coracle::insecure()), coracle::status());
  server.start();
  const std::string target = "127.0.0.1:" + std::to_string(server.port());
  EXPECT_EQ(add_movie(target, "Stalker"), 0);
  const coracle::channel channel(target, coracle::insecure());
  EXPECT_EQ(add_on_threads(channel, 4, 5), 20);
  EXPECT_EQ(add_at_once(channel, {movie::Movie(), movie::Movie()}), (std::vector<bool>{true, true}));
  EXPECT_EQ(add_later(channel, movie::Movie()).get().status(), coracle::status());
  EXPECT_EQ(service.size(), 24u);
}

TEST(GuideToBlocking, AServerRunsBesideTheThreadThatMadeIt) {
  serve_while("127.0.0.1:0", [](std::uint16_t port) {
    EXPECT_EQ(add_movie("127.0.0.1:" + std::to_string(port), "Red"), 0);
  });
}

class two_movies final : public movie::rpc::MovieService::service {
  coracle::replies<movie::Movie> ListMovies(coracle::server_context&,
                                            const movie::ListMoviesRequest&) override {
    const movie::Movie movie;
    co_yield movie;
    co_yield movie;
    co_return coracle::ok;
  }
  coracle::reply<movie::AddMultipleMoviesResponse> AddMultipleMovies(
      coracle::server_context&, coracle::reader<movie::Movie> movies) override {
    movie::AddMultipleMoviesResponse reply;
    while (const auto movie = co_await movies.next()) reply.add_movie_ids(movie->title());
    co_return reply;
  }
};

TEST(GuideToBlocking, StreamsAreReadAndWrittenOperationByOperation) {
  coracle::testing::service_fixture<two_movies> fixture;
  const movies_stub movies(fixture.channel());
  EXPECT_EQ(print_titles(movies), 2);
  EXPECT_EQ(upload(movies, {movie::Movie(), movie::Movie()})->movie_ids_size(), 2);
}

}  // namespace
}  // namespace blocking_page
