// The code of docs/guides/handler_performance.md.
// --8<-- [start:includes]
#include "movie.coracle.hpp"  // generated from movie.proto

#include "coracle/server.hpp"

#include <string>
#include <unordered_map>
// --8<-- [end:includes]
#include "coracle/client.hpp"
#include "coracle/runtime/parallel_for.hpp"
#include "coracle/server/call_statistics.hpp"
#include "coracle/testing/service_fixture.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace handler_performance_page {
namespace {

using movies_stub = movie::rpc::MovieService::stub;

// --8<-- [start:plain]
class movies final : public movie::rpc::MovieService::service {
 public:
  void add(std::string title, std::string id) { ids_.emplace(std::move(title), std::move(id)); }

 private:
  // Not a coroutine: it awaits nothing.
  coracle::reply<movie::AddMovieResponse> AddMovie(coracle::server_context& context,
                                                   const movie::Movie& movie) override {
    const auto found = ids_.find(movie.title());
    if (found == ids_.end()) return coracle::status::not_found("no movie has this title");
    auto& reply = context.make_reply<movie::AddMovieResponse>();
    reply.set_movie_id(found->second);
    return &reply;
  }

  std::unordered_map<std::string, std::string> ids_;  // not changed while the server runs
};
// --8<-- [end:plain]

int hash(const std::string& title) { return static_cast<int>(title.size()); }

class hashing final : public movie::rpc::MovieService::service {
  // --8<-- [start:offload]
  coracle::reply<movie::AddMovieResponse> AddMovie(coracle::server_context&,
                                                   const movie::Movie& movie) override {
    // `hash` is any function that takes long or blocks. Its argument is copied.
    const int value = co_await coracle::offload(&hash, movie.title());
    movie::AddMovieResponse reply;
    reply.set_movie_id(std::to_string(value));
    co_return reply;
  }
  // --8<-- [end:offload]
};

class minutes final : public movie::rpc::MovieService::service {
  // --8<-- [start:parallel]
  coracle::reply<movie::AddMultipleMoviesResponse> AddMultipleMovies(
      coracle::server_context&, coracle::reader<movie::Movie> requests) override {
    std::vector<movie::Movie> all;
    while (const auto movie = co_await requests.next()) all.push_back(*movie);
    const int total = co_await coracle::parallel_reduce(all, 0, &minutes_of, std::plus<>());
    movie::AddMultipleMoviesResponse reply;
    reply.add_movie_ids(std::to_string(total));
    co_return reply;
  }
  // --8<-- [end:parallel]
  static int minutes_of(const movie::Movie& movie) { return movie.duration_minutes(); }
};

// --8<-- [start:statistics]
void log_statistics(coracle::server& server) {
  server.add_interceptor(std::make_shared<coracle::call_statistics>(server.owner().log()));
}
// --8<-- [end:statistics]

TEST(GuideToHandlers, TheyReplyInPlaceAndOffTheLoop) {
  coracle::testing::service_fixture<movies> fixture;
  fixture.service().add("Stalker", "7");
  log_statistics(fixture.server());
  const movies_stub stub(fixture.channel());
  movie::Movie stalker;
  stalker.set_title("Stalker");
  stalker.set_duration_minutes(162);
  EXPECT_EQ(coracle::sync_wait(stub.AddMovie(stalker))->movie_id(), "7");
  EXPECT_EQ(coracle::sync_wait(stub.AddMovie(movie::Movie())).status().code(),
            coracle::status_code::not_found);

  coracle::testing::service_fixture<hashing> offloading;
  EXPECT_EQ(coracle::sync_wait(movies_stub(offloading.channel()).AddMovie(stalker))->movie_id(), "7");

  coracle::testing::service_fixture<minutes> computing;
  auto call = movies_stub(computing.channel()).AddMultipleMovies();
  coracle::sync_wait(call.write(stalker)).throw_if_error();
  coracle::sync_wait(call.write(stalker)).throw_if_error();
  EXPECT_EQ(coracle::sync_wait(call.finish())->movie_ids(0), "324");
}

}  // namespace
}  // namespace handler_performance_page
