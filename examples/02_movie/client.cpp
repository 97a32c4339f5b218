// movie_client: drives all four kinds of call and a deadline that expires, and checks what comes back.
#include "../command_line.hpp"
#include "credentials.hpp"
#include "movie.coracle.hpp"

#include <coracle/client.hpp>

#include <chrono>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using namespace std::chrono_literals;

// Enough for a slow machine; a call without a deadline could wait for ever.
constexpr auto patience = 20s;

movie::Movie make_movie(const char* title, int year, const char* director) {
  movie::Movie movie;
  movie.set_title(title);
  movie.set_year(year);
  movie.set_director(director);
  return movie;
}

void require(bool truth, const std::string& what) {
  if (!truth) throw std::runtime_error("wrong: " + what);
}

void show(const char* step, const std::string& what) {
  std::printf("%-17s %s\n", step, what.c_str());
  std::fflush(stdout);
}

coracle::task<std::int64_t> add_one(const movie::rpc::MovieService::stub& movies) {
  const auto movie = make_movie("Stalker", 1979, "Andrei Tarkovsky");
  const auto reply = co_await movies.AddMovie(movie, coracle::within(patience));
  const std::int64_t id = reply.value().movie_id();  // throws what went wrong
  show("unary", "AddMovie: Stalker has the id " + std::to_string(id));

  const auto refused = co_await movies.AddMovie(movie::Movie(), coracle::within(patience));
  require(refused.status().code() == coracle::status_code::invalid_argument,
          "a movie without a title was taken");
  show("unary", "AddMovie without a title: " + refused.status().to_string());
  co_return id;
}

coracle::task<> add_many(const movie::rpc::MovieService::stub& movies) {
  const std::vector<movie::Movie> trilogy = {make_movie("Blue", 1993, "Krzysztof Kieslowski"),
                                             make_movie("White", 1994, "Krzysztof Kieslowski"),
                                             make_movie("Red", 1994, "Krzysztof Kieslowski")};
  auto call = movies.AddMultipleMovies(coracle::within(patience));
  for (const auto& movie : trilogy) co_await call.write(movie);
  const auto reply = co_await call.finish();
  require(reply.value().movie_ids_size() == 3, "not three movies were kept");
  show("client streaming",
       "AddMultipleMovies: three movies, the last has the id " + std::to_string(reply->movie_ids(2)));
}

coracle::task<> list(const movie::rpc::MovieService::stub& movies) {
  auto call = movies.ListMovies(movie::ListMoviesRequest(), coracle::within(patience));
  std::int64_t last = 0;
  int count = 0;
  while (const auto movie = co_await call.next()) {
    require(movie->id() > last, "the list is out of order");
    last = movie->id();
    if (++count <= 4) show("server streaming", "ListMovies: " + std::to_string(last) + " " + movie->title());
  }
  require(count >= 4, "the list has only " + std::to_string(count) + " movies");
}

coracle::task<> watch(const movie::rpc::MovieService::stub& movies, std::int64_t id) {
  auto call = movies.WatchTogether(coracle::within(patience));
  movie::Movie wish;
  wish.set_id(id);
  for (int view = 1; view <= 3; ++view) {
    co_await call.write(wish);
    const auto movie = co_await call.next();  // answered before the next wish is said
    require(movie && movie->views() == view, "view " + std::to_string(view) + " was not counted");
    show("bidirectional", "WatchTogether: " + movie->title() + " for the " + std::to_string(view) + ". time");
  }
  const auto status = co_await call.finish();
  require(status.ok(), "the end is " + status.to_string());
}

coracle::task<> miss_a_deadline(const movie::rpc::MovieService::stub& movies) {
  movie::ListMoviesRequest slowly;
  slowly.set_pause_ms(60'000);
  auto call = movies.ListMovies(slowly, coracle::within(200ms));
  const auto status = co_await call.finish();
  require(status.code() == coracle::status_code::deadline_exceeded,
          "the slow list ended with " + status.to_string());
  show("deadline", "ListMovies, slowly, within 200 ms: " + status.to_string());
}

coracle::task<> tour(coracle::channel& channel) {
  const movie::rpc::MovieService::stub movies(channel);
  const auto id = co_await add_one(movies);
  co_await add_many(movies);
  co_await list(movies);
  co_await watch(movies, id);
  co_await miss_a_deadline(movies);
}

}  // namespace

int main(int argc, char** argv) {
  return examples::run("movie_client", [&] {
    const examples::command_line line(argc, argv, {"ca", "cert", "key"}, 1);
    if (line.words().empty()) throw examples::usage_error("say the server's address: 127.0.0.1:50051");
    coracle::runtime runtime;
    coracle::channel channel(runtime, line.words().front(), examples::channel_credentials_of(line));
    coracle::sync_wait(runtime, tour(channel));
    show("done", "everything was right");
    return 0;
  });
}
