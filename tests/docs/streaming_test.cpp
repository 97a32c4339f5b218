// The code of docs/guides/streaming.md.
#include "movie.coracle.fake.hpp"

#include "coracle/client.hpp"
#include "coracle/coro/mutex.hpp"
#include "coracle/server.hpp"
#include "coracle/testing/service_fixture.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace streaming_page {
namespace {

using namespace std::chrono_literals;
using movies_stub = movie::rpc::MovieService::stub;
using faked = coracle::testing::service_fixture<movie::rpc::MovieServiceFake>;

// --8<-- [start:upload]
coracle::task<coracle::result<movie::AddMultipleMoviesResponse>> upload(movies_stub movies,
                                                                        std::vector<movie::Movie> shelf) {
  auto call = movies.AddMultipleMovies(coracle::within(10s));
  for (const auto& movie : shelf) {
    const auto sent = co_await call.write(movie);  // waits while there is no room
    if (!sent.ok()) break;  // the server has ended the call: finish() says how
  }
  co_return co_await call.finish();
}
// --8<-- [end:upload]

// --8<-- [start:download]
coracle::task<int> count(movies_stub movies) {
  auto call = movies.ListMovies(movie::ListMoviesRequest(), coracle::within(10s));
  int found = 0;
  while (const auto movie = (co_await call.next()).value()) found += movie->title().empty() ? 0 : 1;
  co_return found;  // after OK only: any other end has thrown status_error
}
// --8<-- [end:download]

// --8<-- [start:reuse]
coracle::task<int> total_minutes(movies_stub movies) {
  auto call = movies.ListMovies(movie::ListMoviesRequest(), coracle::within(10s));
  int minutes = 0;
  movie::Movie movie;  // every read reuses its memory
  for (;;) {
    const bool more = (co_await call.read(movie)).value();
    if (!more) co_return minutes;
    minutes += movie.duration_minutes();
  }
}
// --8<-- [end:reuse]

// --8<-- [start:talk]
using talk = coracle::bidi_call<movie::WatchTogetherRequest, movie::WatchTogetherResponse>;

coracle::task<> ask_for(talk& call, std::vector<std::string> ids) {
  for (const auto& id : ids) {
    movie::WatchTogetherRequest request;
    request.set_movie_id(id);
    const auto sent = co_await call.write(request);
    if (!sent.ok()) co_return;  // the reader gets the status
  }
  co_await call.writes_done();
}

coracle::task<coracle::status> watch(movies_stub movies, std::vector<std::string> ids,
                                     std::vector<std::string>& titles) {
  auto call = movies.WatchTogether(coracle::within(10s));
  coracle::scope writing{co_await coracle::coro::this_environment()};
  writing.spawn(ask_for(call, std::move(ids)));  // one task writes ...
  for (;;) {
    const auto next = co_await call.next();  // ... while another reads
    if (!next.ok() || !*next) break;
    titles.push_back((*next)->movie().title());
  }
  co_await writing.join();  // on every path: the task refers to `call`
  co_return co_await call.finish();
}
// --8<-- [end:talk]

// --8<-- [start:handler]
class library final : public movie::rpc::MovieService::service {
  // Looks each movie up on a thread that may block and replies when it is found; reads the next request
  // meanwhile.
  coracle::replies<movie::WatchTogetherResponse> WatchTogether(
      coracle::server_context& context, coracle::reader<movie::WatchTogetherRequest> requests) override {
    const auto replies = co_await coracle::replies<movie::WatchTogetherResponse>::writer();
    coracle::mutex writing;  // one write at a time
    coracle::scope lookups{context.environment()};
    try {
      while (const auto request = co_await requests.next())
        lookups.spawn(reply_to(request->movie_id(), replies, writing));
    } catch (const coracle::call_ended&) {
      // The call is over, which has stopped the lookups, too: they are joined all the same.
    }
    co_await lookups.join();
    co_return coracle::ok;
  }

  static coracle::task<> reply_to(std::string id, coracle::writer<movie::WatchTogetherResponse> replies,
                                  coracle::mutex& writing) {
    const auto found = co_await coracle::offload(&library::look_up, id);
    const auto mine = co_await writing.lock();
    co_await replies.write(found);
  }

  static movie::WatchTogetherResponse look_up(const std::string& id) {
    movie::WatchTogetherResponse found;
    found.mutable_movie()->set_title("Number " + id);
    return found;
  }
};
// --8<-- [end:handler]

movie::Movie make_movie(std::string title, int minutes) {
  movie::Movie m;
  m.set_title(std::move(title));
  m.set_duration_minutes(minutes);
  return m;
}

TEST(GuideToStreaming, AnUploadEndsWithAReplyOrTheReason) {
  faked fixture;
  movie::AddMultipleMoviesResponse two;
  two.add_movie_ids("1");
  two.add_movie_ids("2");
  const std::vector<movie::Movie> shelf = {make_movie("White", 92), make_movie("Red", 99)};
  fixture.service().on.AddMultipleMovies.returns(two);
  const movies_stub movies(fixture.channel());
  EXPECT_EQ(coracle::sync_wait(fixture.runtime(), upload(movies, shelf))->movie_ids_size(), 2);
  EXPECT_EQ(fixture.service().on.AddMultipleMovies.calls().front().requests.size(), 2u);

  fixture.service().on.AddMultipleMovies.fails(coracle::status::resource_exhausted("the shelf is full"));
  EXPECT_EQ(coracle::sync_wait(fixture.runtime(), upload(movies, shelf)).status(),
            coracle::status::resource_exhausted("the shelf is full"));
}

TEST(GuideToStreaming, ADownloadIsALoop) {
  faked fixture;
  fixture.service().on.ListMovies.returns({make_movie("White", 92), make_movie("Red", 99)});
  const movies_stub movies(fixture.channel());
  EXPECT_EQ(coracle::sync_wait(fixture.runtime(), count(movies)), 2);
  EXPECT_EQ(coracle::sync_wait(fixture.runtime(), total_minutes(movies)), 191);

  fixture.service().on.ListMovies.fails(coracle::status::unavailable("closed"));
  try {
    coracle::sync_wait(fixture.runtime(), count(movies));
    ADD_FAILURE() << "an end that is not OK went unnoticed";
  } catch (const coracle::status_error& end) {
    EXPECT_EQ(end.status(), coracle::status::unavailable("closed"));
  }
}

TEST(GuideToStreaming, BothSidesMaySpeakAtOnce) {
  coracle::testing::service_fixture<library> fixture;
  std::vector<std::string> titles;
  const std::vector<std::string> ids = {"3", "1", "2"};
  EXPECT_EQ(coracle::sync_wait(fixture.runtime(), watch(movies_stub(fixture.channel()), ids, titles)),
            coracle::status());
  std::sort(titles.begin(), titles.end());
  EXPECT_EQ(titles, (std::vector<std::string>{"Number 1", "Number 2", "Number 3"}));
}

}  // namespace
}  // namespace streaming_page
