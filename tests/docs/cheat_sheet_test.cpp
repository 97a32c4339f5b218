// The code of docs/reference/cheat_sheet.md.
#include "movie.coracle.hpp"

#include "coracle/client.hpp"
#include "coracle/server.hpp"
#include "coracle/testing/service_fixture.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace {

using namespace std::chrono_literals;
using movies_stub = movie::rpc::MovieService::stub;

class shelf final : public movie::rpc::MovieService::service {
  // [unary_server]
  coracle::rpc<movie::AddMovieResponse> AddMovie(coracle::server_context& context,
                                                 const movie::Movie& movie) override {
    if (movie.title().empty()) co_return coracle::status::invalid_argument("a title is needed");
    context.initial_metadata().add("x-shelf", "upper");
    movies_.push_back(movie);
    movie::AddMovieResponse reply;
    reply.set_movie_id(static_cast<std::int64_t>(movies_.size()));
    co_return reply;
  }
  // [/unary_server]

  // [client_streaming_server]
  coracle::rpc<movie::AddMultipleMoviesResponse> AddMultipleMovies(
      coracle::server_context&, coracle::reader<movie::Movie> requests) override {
    movie::AddMultipleMoviesResponse reply;
    while (const auto movie = co_await requests.next()) {
      movies_.push_back(*movie);
      reply.add_movie_ids(static_cast<std::int64_t>(movies_.size()));
    }
    co_return reply;
  }
  // [/client_streaming_server]

  // [server_streaming_server]
  coracle::stream<movie::Movie> ListMovies(coracle::server_context&,
                                           const movie::ListMoviesRequest&) override {
    for (const auto& movie : movies_) co_yield movie;
    co_return coracle::status();
  }
  // [/server_streaming_server]

  // [bidi_server]
  coracle::stream<movie::Movie> WatchTogether(coracle::server_context&,
                                              coracle::reader<movie::Movie> requests) override {
    while (const auto wish = co_await requests.next()) {
      const auto place = static_cast<std::size_t>(wish->id());
      if (place == 0 || place > movies_.size()) co_return coracle::status::not_found("no such movie");
      co_yield movies_[place - 1];
    }
    co_return coracle::status();
  }
  // [/bidi_server]

  std::vector<movie::Movie> movies_;
};

// [unary_client]
coracle::task<std::int64_t> add(movies_stub movies, movie::Movie movie) {
  auto call = movies.AddMovie(movie, coracle::within(1s).metadata("x-who", "ada"));
  const auto reply = co_await call;  // result<AddMovieResponse>
  if (!reply) co_return -1;          // reply.status() says why
  EXPECT_EQ(call.initial_metadata().find("x-shelf"), "upper");
  co_return reply->movie_id();
}
// [/unary_client]

// [client_streaming_client]
coracle::task<int> add_many(movies_stub movies, std::vector<movie::Movie> all) {
  auto call = movies.AddMultipleMovies(coracle::within(1s));
  for (const auto& movie : all) co_await call.write(movie);
  const auto reply = co_await call.finish();  // result<AddMultipleMoviesResponse>
  co_return reply.value().movie_ids_size();   // value() throws status_error
}
// [/client_streaming_client]

// [server_streaming_client]
coracle::task<int> list(movies_stub movies) {
  auto call = movies.ListMovies(movie::ListMoviesRequest(), coracle::within(1s));
  int years = 0;
  while (const auto movie = co_await call.next()) years += movie->year();
  co_return years;
}
// [/server_streaming_client]

// [bidi_client]
coracle::task<coracle::status> watch(movies_stub movies, std::vector<std::int64_t> ids) {
  auto call = movies.WatchTogether(coracle::within(1s));
  for (const auto id : ids) {
    movie::Movie wish;
    wish.set_id(id);
    co_await call.write(wish);
    const auto movie = co_await call.next_result();
    if (!movie) co_return movie.status();
  }
  co_return co_await call.finish();
}
// [/bidi_client]

movie::Movie of_year(int year) {
  movie::Movie m;
  m.set_title("A movie");
  m.set_year(year);
  return m;
}

TEST(CheatSheet, AllKindsOfCall) {
  coracle::testing::service_fixture<shelf> fixture;
  const movies_stub movies(fixture.channel());
  coracle::runtime& on = fixture.runtime();
  EXPECT_EQ(coracle::sync_wait(on, add(movies, of_year(1979))), 1);
  EXPECT_EQ(coracle::sync_wait(on, add(movies, movie::Movie())), -1);
  const std::vector<movie::Movie> two = {of_year(1993), of_year(1994)};
  EXPECT_EQ(coracle::sync_wait(on, add_many(movies, two)), 2);
  EXPECT_EQ(coracle::sync_wait(on, list(movies)), 1979 + 1993 + 1994);
  const std::vector<std::int64_t> known = {1, 3};
  EXPECT_EQ(coracle::sync_wait(on, watch(movies, known)), coracle::status());
  const std::vector<std::int64_t> unknown = {4};
  EXPECT_EQ(coracle::sync_wait(on, watch(movies, unknown)), coracle::status::not_found("no such movie"));
}

}  // namespace
