// The code of docs/reference/cheat_sheet.md.
#include "movie.coracle.hpp"

#include "coracle/client.hpp"
#include "coracle/server.hpp"
#include "coracle/testing/service_fixture.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

namespace cheat_sheet_page {
namespace {

using namespace std::chrono_literals;
using movies_stub = movie::rpc::MovieService::stub;

class shelf final : public movie::rpc::MovieService::service {
  // --8<-- [start:unary_server]
  coracle::reply<movie::AddMovieResponse> AddMovie(coracle::server_context& context,
                                                   const movie::Movie& movie) override {
    if (movie.title().empty()) co_return coracle::status::invalid_argument("a title is needed");
    context.initial_metadata().add("x-shelf", "upper");
    movie::AddMovieResponse reply;
    reply.set_movie_id(add(movie));
    co_return reply;
  }
  // --8<-- [end:unary_server]

  // --8<-- [start:client_streaming_server]
  coracle::reply<movie::AddMultipleMoviesResponse> AddMultipleMovies(
      coracle::server_context&, coracle::reader<movie::Movie> requests) override {
    movie::AddMultipleMoviesResponse reply;
    while (const auto movie = co_await requests.next()) reply.add_movie_ids(add(*movie));
    co_return reply;
  }
  // --8<-- [end:client_streaming_server]

  // --8<-- [start:server_streaming_server]
  coracle::replies<movie::Movie> ListMovies(coracle::server_context&,
                                            const movie::ListMoviesRequest&) override {
    for (const auto& movie : movies_) co_yield movie;
    co_return coracle::ok;
  }
  // --8<-- [end:server_streaming_server]

  // --8<-- [start:bidi_server]
  coracle::replies<movie::WatchTogetherResponse> WatchTogether(
      coracle::server_context&, coracle::reader<movie::WatchTogetherRequest> requests) override {
    while (const auto request = co_await requests.next()) {
      const movie::Movie* const found = find(request->movie_id());
      if (!found) co_return coracle::status::not_found("no such movie");
      movie::WatchTogetherResponse reply;
      *reply.mutable_movie() = *found;
      co_yield reply;
    }
    co_return coracle::ok;
  }
  // --8<-- [end:bidi_server]

  std::string add(const movie::Movie& movie) {
    movies_.push_back(movie);
    movies_.back().set_id(std::to_string(movies_.size()));
    return movies_.back().id();
  }
  [[nodiscard]] const movie::Movie* find(const std::string& id) const {
    const auto found =
        std::find_if(movies_.begin(), movies_.end(), [&](const auto& m) { return m.id() == id; });
    return found == movies_.end() ? nullptr : &*found;
  }

  std::vector<movie::Movie> movies_;
};

// --8<-- [start:unary_client]
coracle::task<std::string> add(movies_stub movies, movie::Movie movie) {
  auto call = movies.AddMovie(movie, coracle::within(1s).add_metadata("x-who", "ada"));
  const auto reply = co_await call;                      // result<AddMovieResponse>
  if (!reply) co_return reply.status().to_string();
  EXPECT_EQ(call.initial_metadata().find("x-shelf"), "upper");
  co_return reply->movie_id();
}
// --8<-- [end:unary_client]

// --8<-- [start:client_streaming_client]
coracle::task<int> add_many(movies_stub movies, std::vector<movie::Movie> all) {
  auto call = movies.AddMultipleMovies(coracle::within(1s));
  for (const auto& movie : all) {
    const auto sent = co_await call.write(movie);  // status
    if (!sent.ok()) break;                         // the call is over: finish() has its status
  }
  const auto reply = co_await call.finish();  // result<AddMultipleMoviesResponse>
  co_return reply.value().movie_ids_size();   // value() throws status_error
}
// --8<-- [end:client_streaming_client]

// --8<-- [start:server_streaming_client]
coracle::task<int> list(movies_stub movies) {
  auto call = movies.ListMovies(movie::ListMoviesRequest(), coracle::within(1s));
  int years = 0;
  while (const auto movie = (co_await call.next()).value()) years += movie->year_of_production();
  co_return years;
}
// --8<-- [end:server_streaming_client]

// --8<-- [start:bidi_client]
coracle::task<coracle::status> watch(movies_stub movies, std::vector<std::string> ids) {
  auto call = movies.WatchTogether(coracle::within(1s));
  for (const auto& id : ids) {
    movie::WatchTogetherRequest request;
    request.set_movie_id(id);
    const auto sent = co_await call.write(request);
    if (!sent.ok()) break;
    const auto reply = co_await call.next();  // result<std::optional<WatchTogetherReply>>
    if (!reply.ok() || !*reply) break;
  }
  co_return co_await call.finish();
}
// --8<-- [end:bidi_client]

movie::Movie of_year(int year) {
  movie::Movie m;
  m.set_title("A movie");
  m.set_year_of_production(year);
  return m;
}

TEST(CheatSheet, AllKindsOfCall) {
  coracle::testing::service_fixture<shelf> fixture;
  const movies_stub movies(fixture.channel());
  coracle::runtime& on = fixture.runtime();
  EXPECT_EQ(coracle::sync_wait(on, add(movies, of_year(1979))), "1");
  EXPECT_EQ(coracle::sync_wait(on, add(movies, movie::Movie())), "INVALID_ARGUMENT: a title is needed");
  const std::vector<movie::Movie> two = {of_year(1993), of_year(1994)};
  EXPECT_EQ(coracle::sync_wait(on, add_many(movies, two)), 2);
  EXPECT_EQ(coracle::sync_wait(on, list(movies)), 1979 + 1993 + 1994);
  const std::vector<std::string> known = {"1", "3"};
  EXPECT_EQ(coracle::sync_wait(on, watch(movies, known)), coracle::status());
  const std::vector<std::string> unknown = {"4"};
  EXPECT_EQ(coracle::sync_wait(on, watch(movies, unknown)), coracle::status::not_found("no such movie"));
}

}  // namespace
}  // namespace cheat_sheet_page
