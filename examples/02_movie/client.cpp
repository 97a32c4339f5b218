// movie_client: makes all four kinds of call and one whose deadline expires, and checks the replies.
#include "../command_line.hpp"
#include "credentials.hpp"
#include "movie.coracle.hpp"

#include <coracle/client.hpp>

#include <chrono>
#include <cstdio>
#include <stdexcept>
#include <string>

namespace {

using namespace std::chrono_literals;
using movies_stub = movie::rpc::MovieService::stub;

constexpr auto patience = 20s;  // for a slow machine; a call without a deadline could wait forever
constexpr const char* trilogy[] = {"Blue", "White", "Red"};

movie::Movie make_movie(const char* title, int year, const char* first_name, const char* last_name) {
  movie::Movie movie;
  movie.set_title(title);
  movie.add_genres(movie::DRAMA);
  movie.set_year_of_production(year);
  movie::MoviePerson& director = *movie.add_directors();
  director.set_first_name(first_name);
  director.set_last_name(last_name);
  return movie;
}

void require(bool truth, const std::string& failure) {
  if (!truth) throw std::runtime_error(failure);
}

void show(const char* step, const std::string& text) {
  std::printf("%-17s %s\n", step, examples::printable(text).c_str());
  std::fflush(stdout);
}

coracle::task<std::string> add_one(const movies_stub& movies) {
  const auto movie = make_movie("Stalker", 1979, "Andrei", "Tarkovsky");
  const auto reply = co_await movies.AddMovie(movie, coracle::within(patience));
  const auto id = reply.value().movie_id();  // value() throws the status of a failed call
  require(!id.empty(), "AddMovie returned no id");
  show("unary", "AddMovie: Stalker has the id " + id);

  const auto refused = co_await movies.AddMovie(movie::Movie(), coracle::within(patience));
  show("unary", "AddMovie without a title: " + refused.status().to_string());
  require(refused.status().code() == coracle::status_code::invalid_argument, "this is no INVALID_ARGUMENT");
  co_return id;
}

coracle::task<> add_many(const movies_stub& movies) {
  auto call = movies.AddMultipleMovies(coracle::within(patience));
  for (const char* title : trilogy) {
    const auto movie = make_movie(title, 1994, "Krzysztof", "Kieslowski");
    const auto sent = co_await call.write(movie);
    if (!sent.ok()) break;  // finish() has the reason
  }
  const auto reply = co_await call.finish();
  require(reply.value().movie_ids_size() == 3, "AddMultipleMovies did not return three ids");
  show("client streaming", "AddMultipleMovies: three movies, the last has the id " + reply->movie_ids(2));
}

coracle::task<> list(const movies_stub& movies, std::string id) {
  auto call = movies.ListMovies(movie::ListMoviesRequest(), coracle::within(patience));
  int since = 0;  // movies from ours on: the server may hold others before it
  while (const auto movie = (co_await call.next()).value()) {
    if (since == 0 && movie->id() != id) continue;
    if (++since > 4) continue;
    require(movie->directors_size() == 1, "ListMovies lost the director of " + movie->title());
    show("server streaming", "ListMovies: " + movie->title() + " by " + movie->directors(0).last_name());
  }
  require(since >= 4, "ListMovies did not return the four movies that were added");
}

coracle::task<> watch(const movies_stub& movies, std::string id) {
  auto call = movies.WatchTogether(coracle::within(patience));
  movie::WatchTogetherRequest request;
  request.set_movie_id(id);
  for (int view = 1; view <= 3; ++view) {
    (co_await call.write(request)).throw_if_error();
    const auto reply = (co_await call.next()).value();  // before the next request
    require(reply && reply->views() == view, "WatchTogether did not count view " + std::to_string(view));
    show("bidirectional", "WatchTogether: " + reply->movie().title() + ", view " + std::to_string(view));
  }
  const auto status = co_await call.finish();
  require(status.ok(), "WatchTogether ended with " + status.to_string());
}

coracle::task<> miss_a_deadline(const movies_stub& movies) {
  movie::ListMoviesRequest slowly;
  slowly.set_pause_ms(60'000);
  auto call = movies.ListMovies(slowly, coracle::within(200ms));
  const auto status = co_await call.finish();
  show("deadline", "ListMovies with pauses, within 200 ms: " + status.to_string());
  require(status.code() == coracle::status_code::deadline_exceeded, "the deadline did not expire");
}

coracle::task<> tour(const movies_stub& movies) {
  const auto id = co_await add_one(movies);
  co_await add_many(movies);
  co_await list(movies, id);
  co_await watch(movies, id);
  co_await miss_a_deadline(movies);
}

}  // namespace

int main(int argc, char** argv) {
  return examples::run("movie_client", [&] {
    const examples::command_line line(argc, argv, "ADDRESS [--ca=FILE [--cert=FILE --key=FILE]]");
    coracle::runtime runtime;
    coracle::channel channel(runtime, line.words().front(), examples::channel_credentials_of(line));
    coracle::sync_wait(runtime, tour(movies_stub(channel)));
    show("done", "all calls returned what was expected");
    return 0;
  });
}
