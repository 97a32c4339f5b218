// The code of docs/guides/metadata.md.
// --8<-- [start:includes]
#include "movie.coracle.hpp"  // generated from movie.proto

#include "coracle/client.hpp"
#include "coracle/server.hpp"

#include <optional>
#include <string>
#include <string_view>
// --8<-- [end:includes]
#include "coracle/testing/service_fixture.hpp"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace metadata_page {
namespace {

// --8<-- [start:names]
using movies_stub = movie::rpc::MovieService::stub;
// --8<-- [end:names]

class movies final : public movie::rpc::MovieService::service {
  // --8<-- [start:server]
  coracle::reply<movie::AddMovieResponse> AddMovie(coracle::server_context& context,
                                                   const movie::Movie&) override {
    const std::optional<std::string_view> user = context.metadata().find("x-user");
    if (!user) co_return coracle::status::unauthenticated("the key x-user is missing");
    context.initial_metadata().add("x-served-for", *user);  // sent before the reply
    context.trailing_metadata().add("x-cost", "12");  // sent with the status
    co_return movie::AddMovieResponse();
  }
  // --8<-- [end:server]

  // --8<-- [start:early]
  coracle::replies<movie::Movie> ListMovies(coracle::server_context& context,
                                            const movie::ListMoviesRequest&) override {
    context.initial_metadata().add("x-total", "2");
    context.send_initial_metadata();  // now, not with the first reply
    const movie::Movie movie;
    co_yield movie;
    co_yield movie;
    co_return coracle::ok;
  }
  // --8<-- [end:early]
};

// --8<-- [start:client]
coracle::task<std::string> cost_of_adding(movies_stub movies, movie::Movie movie) {
  auto call = movies.AddMovie(movie, coracle::call_options().add_metadata("x-user", "ada"));
  const auto reply = co_await call;
  if (!reply) co_return reply.status().to_string();
  co_return std::string(call.trailing_metadata().find("x-cost").value_or("unknown"));
}
// --8<-- [end:client]

// --8<-- [start:binary]
coracle::call_options with_signature(std::string_view user, std::string_view signature) {
  coracle::call_options options;
  options.add_metadata("x-user", user);
  options.add_metadata("x-signature-bin", signature);  // any bytes; base64 on the wire
  return options;
}
// --8<-- [end:binary]

// --8<-- [start:wait]
coracle::task<std::string> number_of_movies(movies_stub movies) {
  auto call = movies.ListMovies(movie::ListMoviesRequest());
  const coracle::status arrived = co_await call.wait_for_initial_metadata();
  if (!arrived.ok()) co_return arrived.to_string();
  co_return std::string(call.initial_metadata().find("x-total").value_or("unknown"));
}
// --8<-- [end:wait]

// --8<-- [start:all]
std::vector<std::string> lines_of(const coracle::metadata& metadata) {
  std::vector<std::string> lines;
  for (const auto& [key, value] : metadata) lines.push_back(std::string(key) + ": " + std::string(value));
  return lines;
}
// --8<-- [end:all]

TEST(GuideToMetadata, BothSidesReadWhatTheOtherSends) {
  coracle::testing::service_fixture<movies> fixture;
  const movies_stub stub(fixture.channel());
  EXPECT_EQ(coracle::sync_wait(fixture.runtime(), cost_of_adding(stub, movie::Movie())), "12");
  EXPECT_EQ(coracle::sync_wait(stub.AddMovie(movie::Movie())).status().code(),
            coracle::status_code::unauthenticated);
  EXPECT_EQ(coracle::sync_wait(fixture.runtime(), number_of_movies(stub)), "2");
}

TEST(GuideToMetadata, PairsAreIteratedInTheirOrder) {
  coracle::metadata pairs;
  EXPECT_TRUE(pairs.add("x-user", "ada"));
  EXPECT_TRUE(pairs.add("x-user", "grace"));
  EXPECT_FALSE(pairs.add("X-User", "ada"));
  EXPECT_FALSE(pairs.add("grpc-timeout", "1S"));
  EXPECT_EQ(lines_of(pairs), (std::vector<std::string>{"x-user: ada", "x-user: grace"}));
  EXPECT_EQ(pairs.find_all("x-user").size(), 2u);
  const coracle::call_options options = with_signature("ada", std::string_view("\0\1", 2));
  coracle::testing::service_fixture<movies> fixture;
  EXPECT_EQ(coracle::sync_wait(movies_stub(fixture.channel()).AddMovie(movie::Movie(), options)).status(),
            coracle::status());
}

}  // namespace
}  // namespace metadata_page
