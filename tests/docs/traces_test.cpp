// The examples of docs/guides/traces.md.
#include "movie.coracle.fake.hpp"

#include "coracle/client.hpp"
#include "coracle/server.hpp"
#include "coracle/telemetry/memory_span_sink.hpp"
#include "coracle/telemetry/sampler.hpp"
#include "coracle/telemetry/span.hpp"
#include "coracle/telemetry/telemetry.hpp"
#include "coracle/telemetry/traces.hpp"

#include <gtest/gtest.h>

#include <memory>

namespace traces_page {
namespace {

// --8<-- [start:handler]
class movies final : public movie::rpc::MovieService::service {
  coracle::reply<movie::AddMovieResponse> AddMovie(coracle::server_context&,
                                                   const movie::Movie& movie) override {
    coracle::span work = co_await coracle::start_span("store the movie");
    work.set("movie.title", movie.title());
    movie::AddMovieResponse response;
    response.set_movie_id("1");
    co_return response;
  }
};
// --8<-- [end:handler]

TEST(TracesPage, AHandlerHasASpanWithinThatOfItsCall) {
  movies service;
  coracle::runtime runtime(1);
  auto sink = std::make_shared<coracle::memory_span_sink>();
  // --8<-- [start:trace]
  coracle::telemetry telemetry(runtime);
  coracle::trace_options options;
  options.sample = coracle::sampler::parent_based(coracle::sampler::ratio(1.0));
  telemetry.trace(options);
  telemetry.add_span_sink(sink);
  // --8<-- [end:trace]
  coracle::server server(runtime);
  server.add(service);
  telemetry.observe(server);
  coracle::channel channel(runtime, server.in_process());
  const movie::rpc::MovieService::stub stub(channel);
  movie::Movie movie;
  movie.set_title("Metropolis");
  ASSERT_TRUE(coracle::sync_wait(stub.AddMovie(movie)).ok());
  coracle::sync_wait(runtime, runtime.at(0), telemetry.flush_spans());
  EXPECT_EQ(sink->take_spans().size(), 4U);  // the call, its attempt, the server's call, the handler's work
}

}  // namespace
}  // namespace traces_page
