// movies: the movie service over a store. 12_web serves it, too.
#pragma once

#include "movie.coracle.hpp"
#include "movie_store.hpp"

#include <coracle/server.hpp>

#include <chrono>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

class movies final : public movie::rpc::MovieService::service {
 public:
  explicit movies(movie_store& store) : store_(store) {}

  coracle::reply<movie::AddMovieResponse> AddMovie(coracle::server_context& context,
                                                   const movie::Movie& movie) override {
    echo(context);
    if (movie.title().empty()) co_return needs_title();
    const std::vector<movie::Movie> one(1, movie);
    const auto ids = co_await store_.insert(one);  // suspends, blocks no thread
    movie::AddMovieResponse response;
    response.set_movie_id(ids.front());
    co_return response;
  }

  coracle::reply<movie::AddMultipleMoviesResponse> AddMultipleMovies(
      coracle::server_context&, coracle::reader<movie::Movie> requests) override {
    std::vector<movie::Movie> all;
    std::size_t all_bytes = 0;
    while (auto movie = co_await requests.next()) {
      if (movie->title().empty()) co_return needs_title();
      all_bytes += movie->SpaceUsedLong();  // more than its size on the wire
      if (all_bytes > upload_bytes_max)
        co_return coracle::status::resource_exhausted(
            "the movies of an upload take at most 64 MiB of memory");
      all.push_back(*std::move(movie));
    }
    // Reached only after a clean end of the client's stream: a cut upload unwinds from next() and leaves nothing.
    const auto ids = co_await store_.insert(all);
    movie::AddMultipleMoviesResponse response;
    for (const auto& id : ids) response.add_movie_ids(id);
    co_return response;
  }

  coracle::replies<movie::Movie> ListMovies(coracle::server_context&,
                                            const movie::ListMoviesRequest& request) override {
    const std::chrono::milliseconds pause(request.pause_ms());
    std::string last;
    while (true) {
      const auto page = co_await store_.page(last, page_size);
      if (page.empty()) co_return coracle::ok;
      for (const auto& movie : page) {
        if (pause.count() > 0) co_await coracle::sleep_for(pause);  // ends early when the call does
        co_yield movie;  // suspends while the client reads no further
      }
      last = page.back().id();
    }
  }

  coracle::replies<movie::WatchTogetherResponse> WatchTogether(
      coracle::server_context&, coracle::reader<movie::WatchTogetherRequest> requests) override {
    while (const auto request = co_await requests.next()) {
      const auto watched = co_await store_.watch(request->movie_id());
      if (!watched) co_return no_such_movie();
      co_yield *watched;
    }
    co_return coracle::ok;
  }

 private:
  static coracle::status needs_title() { return coracle::status::invalid_argument("a movie needs a title"); }
  static coracle::status no_such_movie() { return coracle::status::not_found("no movie has this id"); }
  // Shows metadata: returns the request's x-echo-... fields, text before the reply and binary after it.
  static void echo(coracle::server_context& context) {
    for (const auto& field : context.metadata()) {
      if (!field.name.starts_with("x-echo-")) continue;
      auto& back = field.name.ends_with("-bin") ? context.trailing_metadata() : context.initial_metadata();
      back.add(field.name, field.value);
    }
  }

  // Limits the memory that one upload takes; enough for some hundred thousand movies.
  static constexpr std::size_t upload_bytes_max = 64u << 20;
  static constexpr int page_size = 16;
  movie_store& store_;
};
