// web_server: the movie service over every protocol of the port, for browser_test.py, console_test.py,
// reverse_proxy_test.py, openapi_client_test.py and protocols_test.py.
#include "../../examples/02_movie/credentials.hpp"
#include "counts.coracle.hpp"
#include "movie.coracle.hpp"

#include "coracle/console/console.hpp"
#include "coracle/rpc/status_details.hpp"
#include "coracle/server.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <iterator>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace {

// Of all loops.
struct shared_state {
  std::mutex mutex;
  std::vector<movie::Movie> movies;
  counts::HandlerCounts counts;
};

// --8<-- [start:client_address]
// A proxy is the peer of the connection, and names the client last in this field.
std::string client_address_of(const coracle::server_context& context) {
  const std::string_view forwarded = context.metadata().find("x-forwarded-for").value_or("");
  const std::size_t last = forwarded.find_last_of(", ");
  return std::string(last == forwarded.npos ? forwarded : forwarded.substr(last + 1));
}
// --8<-- [end:client_address]

// Returns the address of the client behind a proxy, the names in its certificate, whether it has compressed
// the request, and the request's x-echo-... fields, text before the reply and binary after it.
void echo(coracle::server_context& context) {
  const std::string address = client_address_of(context);
  if (!address.empty()) context.initial_metadata().add("x-client-address", address);
  if (context.read_compressed()) context.initial_metadata().add("x-compressed", "yes");
  if (context.auth())
    for (const coracle::peer_identity& one : context.auth()->identities())
      context.initial_metadata().add("x-client-identity", one.value());
  for (const auto& field : context.metadata()) {
    if (!field.name.starts_with("x-echo-")) continue;
    auto& back = field.name.ends_with("-bin") ? context.trailing_metadata() : context.initial_metadata();
    back.add(field.name, field.value);
  }
}

class movies final : public movie::rpc::MovieService::service {
 public:
  explicit movies(shared_state& state) : state_(state) {}

  coracle::reply<movie::AddMovieResponse> AddMovie(coracle::server_context& context,
                                                   const movie::Movie& movie) override {
    count_call();
    echo(context);
    if (movie.title().empty())
      return coracle::with_details(coracle::status::invalid_argument("a movie needs a title"),
                                   coracle::bad_request().field("title", "is empty"));
    movie::AddMovieResponse response;
    response.set_movie_id(insert(movie));
    return response;
  }

  coracle::reply<movie::AddMultipleMoviesResponse> AddMultipleMovies(
      coracle::server_context&, coracle::reader<movie::Movie> requests) override {
    count_call();
    movie::AddMultipleMoviesResponse response;
    while (const auto movie = co_await requests.next()) response.add_movie_ids(insert(*movie));
    co_return response;
  }

  // The metadata x-time-left-ms shows the deadline that the client has sent.
  coracle::replies<movie::Movie> ListMovies(coracle::server_context& context,
                                            const movie::ListMoviesRequest& request) override {
    count_call();
    listing one(state_);
    echo(context);
    using std::chrono::milliseconds;
    if (context.deadline() != coracle::never) {
      const auto left =
          std::chrono::duration_cast<milliseconds>(context.deadline() - coracle::coro::this_executor().now());
      context.initial_metadata().add("x-time-left-ms", std::to_string(left.count()));
    }
    context.send_initial_metadata();
    const milliseconds pause(request.pause_ms());
    std::vector<movie::Movie> all = stored();
    // The ids of events are the numbers of the movies.
    if (const auto last = context.metadata().find("last-event-id"))
      all.erase(all.begin(),
                all.begin() + std::min<std::ptrdiff_t>(std::stol(std::string(*last)), std::ssize(all)));
    for (const movie::Movie& movie : all) {
      if (pause.count() > 0) co_await coracle::sleep_for(pause);
      co_yield movie;
    }
    one.ended = true;
    co_return coracle::ok;
  }

  coracle::replies<movie::WatchTogetherResponse> WatchTogether(
      coracle::server_context&, coracle::reader<movie::WatchTogetherRequest> requests) override {
    count_call();
    while (const auto request = co_await requests.next()) {
      movie::WatchTogetherResponse response;
      response.mutable_movie()->set_id(request->movie_id());
      co_yield response;
    }
    co_return coracle::ok;
  }

 private:
  // Counts a handler that does not reach its end.
  struct listing {
    explicit listing(shared_state& s) : state(s) {}
    ~listing() {
      if (ended) return;
      const std::lock_guard lock(state.mutex);
      state.counts.set_cancelled(state.counts.cancelled() + 1);
    }
    shared_state& state;
    bool ended = false;
  };

  void count_call() {
    const std::lock_guard lock(state_.mutex);
    state_.counts.set_called(state_.counts.called() + 1);
  }
  std::string insert(const movie::Movie& movie) {
    const std::lock_guard lock(state_.mutex);
    state_.movies.push_back(movie);
    state_.movies.back().set_id(std::to_string(state_.movies.size()));
    return state_.movies.back().id();
  }
  std::vector<movie::Movie> stored() {
    const std::lock_guard lock(state_.mutex);
    return state_.movies;
  }

  shared_state& state_;
};

class handlers final : public counts::rpc::Handlers::service {
 public:
  explicit handlers(shared_state& state) : state_(state) {}

  coracle::reply<counts::HandlerCounts> Count(coracle::server_context&,
                                              const counts::CountRequest&) override {
    const std::lock_guard lock(state_.mutex);
    return state_.counts;
  }

 private:
  shared_state& state_;
};

// --8<-- [start:rules]
constexpr const char* rest_rules = R"({"http": {"rules": [
  {"selector": "movie.MovieService.AddMovie", "post": "/v1/movies", "body": "*"},
  {"selector": "movie.MovieService.AddMultipleMovies", "post": "/v1/movies:upload", "body": "*"},
  {"selector": "movie.MovieService.ListMovies", "get": "/v1/movies"},
  {"selector": "counts.Handlers.Count", "get": "/v1/counts"}
]}})";
// --8<-- [end:rules]

}  // namespace

int main(int argc, char** argv) {
  return examples::run("web_server", [&] {
    const examples::command_line line(
        argc, argv,
        "[--origin=ORIGIN] [--host=HOST] [--continue=yes] [--console=yes|PASSWORD] [--socket=PATH] "
        "[--cert=FILE --key=FILE [--client-ca=FILE]]");
    const std::string origin = line.option("origin").value_or("http://localhost:3000");
    shared_state state;
    movies service(state);
    handlers counts(state);
    // --8<-- [start:options]
    coracle::server_options options;
    options.web.allowed_origins = {origin};  // "http://localhost:3000"
    // Metadata that pages may send.
    options.web.allowed_headers = {"x-echo-text", "x-echo-bytes-bin"};
    // JSON for clients of Connect; their default.
    options.codecs = {&coracle::json_codec()};
    // --8<-- [end:options]
    if (const auto host = line.option("host")) options.web.allowed_hosts = {std::string(*host)};
    // --8<-- [start:add]
    coracle::server server(options);
    server.add(service);
    // --8<-- [end:add]
    server.add(counts);
    // --8<-- [start:rest]
    coracle::rest_options rest;
    rest.http_rules = rest_rules;
    // A request header that handlers get as metadata, and metadata that becomes a response header.
    rest.request_headers.push_back("x-echo-text");
    rest.response_headers.push_back("x-echo-text");
    // --8<-- [end:rest]
    rest.request_headers.push_back("x-forwarded-for");
    rest.response_headers.push_back("x-client-address");
    if (line.option("continue")) rest.request_headers.push_back("last-event-id");
    if (const auto console = line.option("console")) {
      coracle::console_options page;
      if (*console != "yes")  // the name and the password in base64
        page.authorize = [basic = "Basic " + *console](const coracle::http_request& request) {
          if (request.header("authorization") == basic) return coracle::status();
          return coracle::status::unauthenticated("a name and a password are needed");
        };
      coracle::with_console(server, page);
    }
    // --8<-- [start:add_rest]
    server.add_rest(rest).throw_if_error();
    // --8<-- [end:add_rest]
    server.add_openapi().throw_if_error();
    server.listen("127.0.0.1:0", examples::server_credentials_of(line)).throw_if_error();
    if (const auto socket = line.option("socket"))
      server.listen("unix:" + *socket, coracle::insecure()).throw_if_error();
    std::printf("listening on 127.0.0.1:%u\n", unsigned{server.port()});
    std::fflush(stdout);
    return server.run();
  });
}
