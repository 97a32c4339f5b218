// observed_pair: a server with metrics and a client of it in one process, for prometheus_test.py.
#include "../../examples/command_line.hpp"
#include "movie.coracle.hpp"

#include "coracle/client.hpp"
#include "coracle/coro/measure.hpp"
#include "coracle/server.hpp"
#include "coracle/telemetry/with_metrics.hpp"

#include <chrono>
#include <cstdio>
#include <string>

namespace {

using movies_stub = movie::rpc::MovieService::stub;

constexpr coracle::instrument marks{.name = "test.marks",
                                    .description = "Marks that the program has set.",
                                    .unit = "{mark}",
                                    .kind = coracle::instrument_kind::counter,
                                    .labels = {"number"},
                                    .optional_labels = {},
                                    .bounds = {}};

// AddMovie fails without a title; with the title "twice" every other call fails.
class movies final : public movie::rpc::MovieService::service {
  coracle::reply<movie::AddMovieResponse> AddMovie(coracle::server_context&,
                                                   const movie::Movie& movie) override {
    if (movie.title().empty()) co_return coracle::status::invalid_argument("a movie needs a title");
    if (movie.title() == "twice" && ++asked_ % 2 == 1) co_return coracle::status::unavailable("not yet");
    co_return movie::AddMovieResponse();
  }
  unsigned asked_ = 0;
};

coracle::channel_options with_retries() {
  coracle::channel_options options;
  options.service_config = coracle::service_config::parse(R"({"methodConfig": [{
      "name": [{"service": "movie.MovieService"}],
      "retryPolicy": {"maxAttempts": 3, "initialBackoff": "0.01s", "maxBackoff": "0.01s", "backoffMultiplier": 1,
                      "retryableStatusCodes": ["UNAVAILABLE"]}}]})")
                               .value();
  return options;
}

// `calls` of each kind: good ones, bad ones, and those that need a second attempt. Then the same, one at a
// time, for as long as the program runs, if `continues`, and each of them on a connection of its own, too.
coracle::task<> make_calls(coracle::runtime& rt, std::string address, int calls, int series, bool continues) {
  const coracle::channel channel(rt, address, coracle::insecure(), with_retries());
  const movies_stub stub(channel);
  movie::Movie good;
  good.set_title("Alien");
  movie::Movie twice;
  twice.set_title("twice");
  for (int i = 0; i < series; ++i) {
    const std::string number = std::to_string(i);
    coracle::measure(marks, 1, {number});
  }
  for (int i = 0; i < calls || continues; ++i) {
    (void)co_await stub.AddMovie(good);
    (void)co_await stub.AddMovie(movie::Movie());
    (void)co_await stub.AddMovie(twice);
    if (i + 1 == calls) std::printf("calls were made\n"), std::fflush(stdout);
    if (i + 1 < calls) continue;
    // A name that no machine has: its resolution fails, and is measured (RFC 6761 6.4).
    const coracle::channel nowhere(rt, "name.invalid:1", coracle::insecure());
    coracle::call_options soon;
    soon.timeout = std::chrono::seconds(1);
    if (continues) (void)co_await movies_stub(nowhere).AddMovie(good, soon);
    const coracle::channel other(rt, "localhost" + address.substr(address.find(':')), coracle::insecure());
    if (continues) (void)co_await movies_stub(other).AddMovie(good);
    co_await coracle::sleep_for(std::chrono::milliseconds(20));
  }
}

}  // namespace

int main(int argc, char** argv) {
  return examples::run("observed_pair", [&] {
    const examples::command_line line(
        argc, argv,
        "[--metrics=ADDRESS] [--calls=N] [--series=N] [--series-max=N] [--exponential=yes] [--continue=yes]");
    const auto number = [&](const char* option, int otherwise) {
      const auto given = line.option(option);
      return given ? std::stoi(std::string(*given)) : otherwise;
    };
    coracle::server server;
    movies service;
    server.add(service);
    coracle::metrics_options options;
    options.telemetry.enabled = {"grpc.client.call.*", "grpc.subchannel.*"};
    options.telemetry.optional_labels = {"coracle.loop", "grpc.disconnect_error"};
    options.telemetry.series_max = 100'000;
    options.telemetry.exponential_histograms = line.option("exponential").has_value();
    options.resource = {{"service.name", "movies"}};
    options.series_max = static_cast<std::size_t>(number("series-max", 250'000));
    if (const auto address = line.option("metrics")) options.address = std::string(*address);
    coracle::with_metrics(server, options);
    server.listen("127.0.0.1:0", coracle::insecure()).throw_if_error();
    const std::string address = "127.0.0.1:" + std::to_string(server.port());
    coracle::runtime& rt = server.owner();
    rt.spawn(make_calls(rt, address, number("calls", 5), number("series", 0),
                        line.option("continue").has_value()));
    std::printf("listening on %s\n", address.c_str());
    std::fflush(stdout);
    return server.run();
  });
}
