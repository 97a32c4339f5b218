// The code of docs/guides/recorder.md.
// --8<-- [start:failures]
#include <coracle/rpc/recorder.hpp>

#include <chrono>
#include <iostream>

coracle::task<> print_failures(coracle::runtime& of, std::ostream& out) {
  const coracle::recording r = co_await coracle::take_recording(of);
  for (const coracle::recorded_call& call : r.calls()) {
    if (call.status == coracle::status_code::ok) continue;
    const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(call.took);
    out << call.method << ": " << coracle::name_of(call.status) << " after " << took.count() << " ms\n";
  }
}
// --8<-- [end:failures]

#include "coracle/client/sync_wait.hpp"
#include "coracle/runtime/sync_wait.hpp"
#include "coracle/testing.hpp"
#include "movie.coracle.fake.hpp"

#include <gtest/gtest.h>

#include <sstream>

namespace recorder_page {
namespace {

TEST(RecorderPage, PrintsTheCallsThatFailed) {
  coracle::testing::service_fixture<movie::rpc::MovieServiceFake> fixture;
  fixture.service().on.AddMovie.fails(coracle::status::unavailable("closed"));
  const movie::rpc::MovieService::stub movies(fixture.channel());
  EXPECT_FALSE(coracle::sync_wait(movies.AddMovie(movie::Movie())).ok());
  std::ostringstream out;
  coracle::sync_wait(fixture.runtime(), print_failures(fixture.runtime(), out));
  EXPECT_NE(out.str().find("/movie.MovieService/AddMovie: UNAVAILABLE after "), std::string::npos)
      << out.str();
}

}  // namespace
}  // namespace recorder_page
