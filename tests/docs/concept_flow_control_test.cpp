// The code of docs/concepts/flow_control.md.
// --8<-- [start:includes]
#include "movie.coracle.hpp"

#include <coracle/client.hpp>
#include <coracle/server.hpp>

#include <chrono>
#include <string>
// --8<-- [end:includes]

#include "coracle/testing/service_fixture.hpp"

#include <gtest/gtest.h>

namespace concept_flow_control {

// --8<-- [start:program]
using namespace std::chrono_literals;

class archive final : public movie::rpc::MovieService::service {
 public:
  int sent() const { return sent_; }

 private:
  coracle::replies<movie::Movie> ListMovies(coracle::server_context&,
                                            const movie::ListMoviesRequest&) override {
    movie::Movie movie;
    movie.set_title(std::string(64 * 1024, 'x'));
    for (; sent_ < 1000; ++sent_) co_yield movie;  // suspends while the client does not read
    co_return coracle::ok;
  }
  int sent_ = 0;
};

coracle::task<int> read_slowly(movie::rpc::MovieService::stub movies) {
  const movie::ListMoviesRequest every;
  auto call = movies.ListMovies(every, coracle::within(1min));
  int read = 0;
  while (read < 3) {
    const auto next = co_await call.next();
    if (!next.ok() || !*next) break;
    ++read;
    co_await coracle::sleep_for(50ms);
  }
  co_return read;  // destroying `call` cancels it
}
// --8<-- [end:program]

TEST(ConceptFlowControl, AHandlerWaitsForASlowReader) {
  coracle::testing::service_fixture<archive> fixture;
  const movie::rpc::MovieService::stub movies(fixture.channel());
  EXPECT_EQ(coracle::sync_wait(fixture.runtime(), read_slowly(movies)), 3);
  EXPECT_GE(fixture.service().sent(), 3);
  EXPECT_LT(fixture.service().sent(), 500);  // far fewer than 1,000
}

}  // namespace concept_flow_control
