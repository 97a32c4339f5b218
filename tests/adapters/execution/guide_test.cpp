// The code of docs/guides/senders.md.
// --8<-- [start:includes]
#include "movie.coracle.hpp"  // generated from movie.proto

#include "coracle/client.hpp"
#include "coracle/execution.hpp"
#include "coracle/runtime.hpp"
#include "coracle/server.hpp"
// --8<-- [end:includes]
#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <tuple>
#include <type_traits>
#include <utility>

namespace senders_guide_test {
namespace {

// --8<-- [start:names]
using namespace std::chrono_literals;
using namespace stdexec;
using movies_stub = movie::rpc::MovieService::stub;
// --8<-- [end:names]

movie::Movie film(const std::string& title) {
  movie::Movie m;
  m.set_title(title);
  return m;
}

// --8<-- [start:call]
std::string add_two(movies_stub movies) {
  auto both = when_all(coracle::as_sender(movies.AddMovie(film("Heat"), coracle::within(1s))),
                       coracle::as_sender(movies.AddMovie(film("Ran"), coracle::within(1s)))) |
              then([](const movie::AddMovieResponse& a, const movie::AddMovieResponse& b) {
                return a.movie_id() + ", " + b.movie_id();
              });
  auto [ids] = sync_wait(std::move(both)).value();
  return ids;
}
// --8<-- [end:call]

// --8<-- [start:errors]
std::string add_or_explain(movies_stub movies, const movie::Movie& m) {
  auto added = coracle::as_sender(movies.AddMovie(m)) |
               then([](const movie::AddMovieResponse& reply) { return reply.movie_id(); }) |
               upon_error([]<class Error>(const Error& error) -> std::string {
                 if constexpr (std::is_same_v<Error, coracle::status>) return error.to_string();
                 else return "out of memory";  // a std::exception_ptr
               });
  auto [answer] = sync_wait(std::move(added)).value();
  return answer;
}
// --8<-- [end:errors]

// --8<-- [start:stream]
// Reads titles until the end of the stream: each read is a sender, which the one before makes.
coracle::task<int> count_movies(movies_stub movies) {
  auto call = movies.ListMovies(movie::ListMoviesRequest());
  int count = 0;
  for (;;) {
    auto read = coracle::as_sender(call.next()) |
                then([](const std::optional<movie::Movie>& m) { return m.has_value(); });
    const bool more = co_await std::move(read);  // throws status_error if the call has failed
    if (!more) co_return count;
    ++count;
  }
}
// --8<-- [end:stream]

// --8<-- [start:stop]
bool add_unless_stopped(movies_stub movies, std::stop_token stop) {
  auto add = write_env(coracle::as_sender(movies.AddMovie(film("Stalker"))), prop(get_stop_token, stop));
  return sync_wait(std::move(add)).has_value();  // empty: the call was cancelled
}
// --8<-- [end:stop]

// --8<-- [start:handler]
class catalog final : public movie::rpc::MovieService::service {
  coracle::reply<movie::AddMovieResponse> AddMovie(coracle::server_context&, const movie::Movie& m) override {
    const coracle::loop_scheduler here(*coracle::loop::current());
    return coracle::as_reply(here.schedule_after(1ms) | let_value([&m] {
                               movie::AddMovieResponse reply;
                               reply.set_movie_id("id of " + m.title());
                               return just(std::move(reply));
                             }));
  }
  coracle::replies<movie::Movie> ListMovies(coracle::server_context&,
                                            const movie::ListMoviesRequest&) override {
    return coracle::as_replies<movie::Movie>([](coracle::writer<movie::Movie> out) {
      return coracle::as_sender(out.write(film("Heat"))) |
             let_value([out]() mutable { return coracle::as_sender(out.write(film("Ran"))); });
    });
  }
};
// --8<-- [end:handler]

class refusing final : public movie::rpc::MovieService::service {
  coracle::reply<movie::AddMovieResponse> AddMovie(coracle::server_context&, const movie::Movie&) override {
    return coracle::status::invalid_argument("no title");
  }
};

template <class Service>
class served {
 public:
  served() : server_(runtime_) {
    server_.add(service_);
    runtime_.start();
  }
  [[nodiscard]] movies_stub movies() { return movies_stub(coracle::channel(runtime_, server_.in_process())); }
  [[nodiscard]] coracle::runtime& rt() noexcept { return runtime_; }

 private:
  coracle::runtime runtime_;
  Service service_;
  coracle::server server_;
};

TEST(SendersGuide, Calls) {
  served<catalog> at;
  EXPECT_EQ(add_two(at.movies()), "id of Heat, id of Ran");
  EXPECT_EQ(coracle::sync_wait(at.rt(), count_movies(at.movies())), 2);
  std::stop_source stop;
  EXPECT_TRUE(add_unless_stopped(at.movies(), stop.get_token()));
  stop.request_stop();
  EXPECT_FALSE(add_unless_stopped(at.movies(), stop.get_token()));
}

TEST(SendersGuide, Errors) {
  served<refusing> at;
  EXPECT_EQ(add_or_explain(at.movies(), film("")), "INVALID_ARGUMENT: no title");
}

}  // namespace
}  // namespace senders_guide_test
