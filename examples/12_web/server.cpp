// movie_web_server: the movie service of 02_movie for gRPC, for REST and for a page in a browser, on one port.
#include "../02_movie/credentials.hpp"
#include "../02_movie/movie_store.hpp"
#include "../02_movie/movies.hpp"
#include "../command_line.hpp"

#include <coracle/server.hpp>

#include <google/protobuf/util/json_util.h>

#include <chrono>
#include <cstdio>
#include <string>

namespace {

using namespace std::chrono_literals;

// The rules may also stand in the .proto file, as options of the methods.
constexpr const char* rest_rules = R"({"http": {"rules": [
  {"selector": "movie.MovieService.AddMovie", "post": "/v1/movies", "body": "*"},
  {"selector": "movie.MovieService.ListMovies", "get": "/v1/movies"}
]}})";

std::string event_of(const movie::Movie& movie) {
  std::string json;
  if (!google::protobuf::util::MessageToJsonString(movie, &json).ok()) return {};
  return "id: " + movie.id() + "\ndata: " + json + "\n\n";
}

// --8<-- [start:events]
// An event for each movie, also for those that are added later, by whichever protocol.
coracle::async_generator<std::string> events_of(movie_store& store, coracle::http_request request) {
  // A browser whose connection was lost sends the id of the last event that it has.
  std::string last(request.header("last-event-id").value_or(""));
  const auto drain = request.drain_token();
  while (!drain.stop_requested()) {
    const auto page = co_await store.page(last, 100);
    for (const movie::Movie& movie : page)
      co_yield event_of(movie);  // suspends while the client reads no further
    if (!page.empty()) last = page.back().id();
    else (void)co_await coracle::stop_on(drain, coracle::sleep_for(500ms));
  }
}
// --8<-- [end:events]

}  // namespace

int main(int argc, char** argv) {
  return examples::run("movie_web_server", [&] {
    const examples::command_line line(argc, argv,
                                      "--port=PORT [--db=FILE] [--page=FOLDER] [--cert=FILE --key=FILE]");
    const auto address = "127.0.0.1:" + std::to_string(line.port("port"));
    movie_store store(line.option("db").value_or(":memory:"));
    movies service(store);
    coracle::server server;
    server.add(service);
    coracle::with_defaults(server);
    coracle::rest_options rest;
    rest.http_rules = rest_rules;
    server.add_rest(rest).throw_if_error();
    // --8<-- [start:routes]
    server.add_http("GET", "/events",
                    [&store](coracle::http_request request) -> coracle::task<coracle::http_response> {
                      auto events = events_of(store, std::move(request));
                      co_return coracle::http_response::stream("text/event-stream", std::move(events))
                          .header("cache-control", "no-store");
                    });
    const std::string folder = line.option("page").value_or(MOVIE_PAGE);
    coracle::add_files(server, "/", folder).throw_if_error();
    // --8<-- [end:routes]
    server.listen(address, examples::server_credentials_of(line)).throw_if_error();
    std::printf("listening on 127.0.0.1:%u\n", unsigned{server.port()});
    std::fflush(stdout);
    return server.run();
  });
}
