// What the code of docs/guides/from_grpcpp.md and docs/guides/from_asio_grpc.md becomes.
// --8<-- [start:includes]
#include "greeter.coracle.hpp"  // generated from greeter.proto
#include "movie.coracle.hpp"

#include "coracle/client.hpp"
#include "coracle/coro/when_any.hpp"
#include "coracle/server.hpp"
// --8<-- [end:includes]
#include "coracle/testing/service_fixture.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace migration_page {
namespace {

using namespace std::chrono_literals;

// --8<-- [start:service]
class greeter final : public helloworld::rpc::Greeter::service {
  coracle::reply<helloworld::HelloReply> SayHello(coracle::server_context& context,
                                                  const helloworld::HelloRequest& request) override {
    if (request.name().empty()) co_return coracle::status::invalid_argument("name must not be empty");
    context.trailing_metadata().add("x-served-by", "coracle");
    helloworld::HelloReply reply;
    reply.set_message("Hello, " + request.name());
    co_return reply;
  }
};
// --8<-- [end:service]

// --8<-- [start:server]
int serve(const std::string& address) {
  greeter service;
  coracle::server server;
  server.add(service);
  (void)server.listen(address, coracle::insecure());  // run() reports a failure
  return server.run();  // until SIGTERM or SIGINT, then it drains
}
// --8<-- [end:server]

// --8<-- [start:blocking_client]
std::string greet(coracle::channel channel, const std::string& name) {
  const helloworld::rpc::Greeter::stub stub(channel);
  helloworld::HelloRequest request;
  request.set_name(name);
  const auto reply =
      coracle::sync_wait(stub.SayHello(request, coracle::within(1s).add_metadata("x-who", "ada")));
  return reply ? reply->message() : reply.status().to_string();
}
// --8<-- [end:blocking_client]

// --8<-- [start:client]
coracle::task<std::string> say_hello(helloworld::rpc::Greeter::stub stub, std::string name) {
  helloworld::HelloRequest request;
  request.set_name(name);
  const auto reply = co_await stub.SayHello(request, coracle::within(1s));
  co_return reply ? reply->message() : reply.status().to_string();
}
// --8<-- [end:client]

// --8<-- [start:many]
coracle::task<std::size_t> greet_all(helloworld::rpc::Greeter::stub stub, std::vector<std::string> names) {
  std::vector<coracle::task<std::string>> calls;
  for (const auto& name : names) calls.push_back(say_hello(stub, name));
  const auto greetings = co_await coracle::when_all(std::move(calls));  // all at once, on one thread
  co_return greetings.size();
}
// --8<-- [end:many]

// --8<-- [start:streams]
class movies final : public movie::rpc::MovieService::service {
  coracle::replies<movie::Movie> ListMovies(coracle::server_context&,
                                            const movie::ListMoviesRequest&) override {
    movie::Movie movie;
    for (int year = 1993; year <= 1994; ++year) {
      movie.set_year_of_production(year);
      co_yield movie;  // waits while the client does not read
    }
    co_return coracle::ok;
  }
};

coracle::task<int> list(movie::rpc::MovieService::stub stub) {
  auto call = stub.ListMovies(movie::ListMoviesRequest());
  int count = 0;
  while (const auto movie = (co_await call.next()).value()) count += movie->year_of_production() > 0 ? 1 : 0;
  co_return count;
}
// --8<-- [end:streams]

// --8<-- [start:two_things]
// The wait that loses is stopped; a read that was stopped has consumed no message.
coracle::task<bool> heard_within(movie::rpc::MovieService::stub stub, coracle::duration limit) {
  auto call = stub.ListMovies(movie::ListMoviesRequest());
  auto first = co_await coracle::when_any_settled(call.next(), coracle::sleep_for(limit));
  co_return first.index() == 0;
}
// --8<-- [end:two_things]

// --8<-- [start:generic]
coracle::task<std::string> in_bytes(coracle::channel channel, std::string request) {
  const coracle::generic_stub any(channel);
  const coracle::bytes_message bytes(request);
  const auto reply = co_await any.unary("/helloworld.Greeter/SayHello", bytes);
  co_return reply ? std::string(reply->bytes()) : reply.status().to_string();
}
// --8<-- [end:generic]

// --8<-- [start:threads]
void serve_on_all_cores(coracle::service& service, const std::string& address) {
  coracle::runtime runtime({.loops = 0});
  coracle::server server(runtime);
  server.add(service);
  (void)server.listen(address, coracle::insecure());
  server.run();
}
// --8<-- [end:threads]

TEST(Migration, CallsAreAwaitedOrWaitedFor) {
  coracle::testing::service_fixture<greeter> fixture;
  EXPECT_EQ(greet(fixture.channel(), "Ada"), "Hello, Ada");
  EXPECT_EQ(greet(fixture.channel(), ""), "INVALID_ARGUMENT: name must not be empty");
  const helloworld::rpc::Greeter::stub stub(fixture.channel());
  EXPECT_EQ(coracle::sync_wait(fixture.runtime(), say_hello(stub, "Ada")), "Hello, Ada");
  const std::vector<std::string> three = {"Ada", "Grace", "Barbara"};
  EXPECT_EQ(coracle::sync_wait(fixture.runtime(), greet_all(stub, three)), 3u);

  helloworld::HelloRequest request;
  request.set_name("Ada");
  helloworld::HelloReply reply;
  ASSERT_TRUE(reply.ParseFromString(
      coracle::sync_wait(fixture.runtime(), in_bytes(fixture.channel(), request.SerializeAsString()))));
  EXPECT_EQ(reply.message(), "Hello, Ada");
}

TEST(Migration, StreamsAreLoops) {
  coracle::testing::service_fixture<movies> fixture;
  const movie::rpc::MovieService::stub stub(fixture.channel());
  EXPECT_EQ(coracle::sync_wait(fixture.runtime(), list(stub)), 2);
  EXPECT_TRUE(coracle::sync_wait(fixture.runtime(), heard_within(stub, 1h)));
}

TEST(Migration, AServerThatCannotListenEndsAtOnce) {
  EXPECT_EQ(serve("no address"), 1);
  greeter service;
  serve_on_all_cores(service, "no address");
}

}  // namespace
}  // namespace migration_page
