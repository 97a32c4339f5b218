// movie_server: the movie service over a SQLite store.
#include "../command_line.hpp"
#include "credentials.hpp"
#include "movie.coracle.hpp"
#include "movie_store.hpp"

#include <coracle/server.hpp>

#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

namespace {

const auto needs_title = coracle::status::invalid_argument("a movie needs a title");
const auto no_such_movie = coracle::status::not_found("no movie has this id");

// Shows metadata: returns the request's x-echo-... fields, text before the reply and binary after it.
void echo(coracle::server_context& context) {
  for (const auto& field : context.metadata()) {
    if (!field.name.starts_with("x-echo-")) continue;
    auto& back = field.name.ends_with("-bin") ? context.trailing_metadata() : context.initial_metadata();
    back.add(field.name, field.value);
  }
}

// --8<-- [start:service]
class movies final : public movie::rpc::MovieService::service {
 public:
  explicit movies(movie_store& store) : store_(store) {}

  coracle::reply<movie::AddMovieResponse> AddMovie(coracle::server_context& context,
                                                   const movie::Movie& movie) override {
    echo(context);
    if (movie.title().empty()) co_return needs_title;
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
      if (movie->title().empty()) co_return needs_title;
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
      if (!watched) co_return no_such_movie;
      co_yield *watched;
    }
    co_return coracle::ok;
  }

 private:
  // Limits the memory that one upload takes; enough for some hundred thousand movies.
  static constexpr std::size_t upload_bytes_max = 64u << 20;
  static constexpr int page_size = 16;
  movie_store& store_;
};
// --8<-- [end:service]

}  // namespace

int main(int argc, char** argv) {
  return examples::run("movie_server", [&] {
    const examples::command_line line(argc, argv,
                                      "--port=PORT [--db=FILE] [--cert=FILE --key=FILE [--client-ca=FILE]]");
    const auto port = line.port("port");
    movie_store store(line.option("db").value_or(":memory:"));
    movies service(store);
    coracle::server server;
    server.add(service);
    coracle::with_defaults(server);  // health, reflection, channelz: grpcurl needs no .proto
    const auto address = "127.0.0.1:" + std::to_string(port);
    server.listen(address, examples::server_credentials_of(line)).throw_if_error();
    std::printf("listening on 127.0.0.1:%u\n", unsigned{server.port()});
    std::fflush(stdout);
    return server.run();  // until SIGINT or SIGTERM; calls in flight are finished
  });
}
