// bench_sharing PORT: the server. bench_sharing PORT alone|down|up|both SECONDS CALLS [BYTES]: small calls,
// the given number at a time (none: 0), on one connection, together with a stream of messages of the given
// size (64 KiB) from the server, to it, or both. Prints a line of JSON.
#include "latency_histogram.hpp"
#include "sharing.coracle.hpp"

#include <coracle/client.hpp>
#include <coracle/server.hpp>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>

namespace {

using namespace std::chrono_literals;
using stub = sharing::rpc::Sharing::stub;

std::size_t bulk_bytes = 64u << 10;
constexpr std::size_t small_bytes = 100;
constexpr auto warm_up = 300ms;  // for TCP and windows to find their size

class sharing_service final : public sharing::rpc::Sharing::service {
  coracle::reply<sharing::Piece> Small(coracle::server_context&, const sharing::Piece& piece) override {
    sharing::Piece reply = piece;
    return reply;
  }
  coracle::replies<sharing::Piece> Down(coracle::server_context&, const sharing::Piece& piece) override {
    for (;;) co_yield piece;
  }
  coracle::reply<sharing::Sum> Up(coracle::server_context&, coracle::reader<sharing::Piece> pieces) override {
    sharing::Piece piece;
    std::uint64_t bytes = 0;
    while (co_await pieces.read(piece)) bytes += piece.content().size();
    sharing::Sum reply;
    reply.set_bytes(bytes);
    co_return reply;
  }
};

int serve(const char* port) {
  sharing_service service;
  coracle::server server;
  server.add(service);
  // run() logs its errors.
  if (server.listen(std::string("127.0.0.1:") + port, coracle::insecure()).ok()) {
    std::printf("listening on 127.0.0.1:%u\n", unsigned{server.port()});
    std::fflush(stdout);
  }
  return server.run();
}

struct tally {
  latency_histogram took;
  std::uint64_t calls = 0;
  std::uint64_t down_bytes = 0;
  std::uint64_t up_bytes = 0;
  bool counting = false;
  bool over = false;
};

using clock_type = std::chrono::steady_clock;

sharing::Piece piece_of(std::size_t bytes) {
  sharing::Piece p;
  p.set_content(std::string(bytes, 'x'));
  return p;
}

coracle::task<> call_small(stub to, tally& seen) {
  const sharing::Piece request = piece_of(small_bytes);
  while (!seen.over) {
    const auto began = clock_type::now();
    const auto reply = co_await to.Small(request);
    if (reply.value().content() != request.content()) throw std::runtime_error("a reply is not its request");
    if (!seen.counting) continue;
    seen.took.add(clock_type::now() - began);
    ++seen.calls;
  }
}

coracle::task<> take_bulk(stub to, tally& seen) {
  const sharing::Piece request = piece_of(bulk_bytes);
  auto call = to.Down(request);
  sharing::Piece piece;
  while (!seen.over && (co_await call.read(piece)).value()) {
    if (piece.content().size() != bulk_bytes) throw std::runtime_error("a piece has a wrong size");
    if (seen.counting) seen.down_bytes += bulk_bytes;
  }
}

coracle::task<> give_bulk(stub to, tally& seen) {
  const sharing::Piece piece = piece_of(bulk_bytes);
  auto call = to.Up();
  std::uint64_t all = 0;
  for (; !seen.over; all += bulk_bytes) {
    (co_await call.write(piece)).throw_if_error();
    if (seen.counting) seen.up_bytes += bulk_bytes;
  }
  const auto reply = co_await call.finish();
  if (reply.value().bytes() != all) throw std::runtime_error("the server did not get what was sent");
}

coracle::task<> drive(stub to, std::string_view bulk, std::chrono::duration<double> length, int calls,
                      tally& seen) {
  coracle::scope working{co_await coracle::coro::this_environment()};
  if (bulk == "down" || bulk == "both") working.spawn(take_bulk(to, seen));
  if (bulk == "up" || bulk == "both") working.spawn(give_bulk(to, seen));
  for (int i = 0; i < calls; ++i) working.spawn(call_small(to, seen));
  co_await coracle::sleep_for(warm_up);
  seen.counting = true;
  const auto began = clock_type::now();
  co_await coracle::sleep_for(std::chrono::duration_cast<coracle::duration>(length));
  const std::chrono::duration<double> took = clock_type::now() - began;
  seen.counting = false;
  seen.over = true;
  co_await working.join();
  const auto rate = [&](std::uint64_t bytes) { return static_cast<double>(bytes) / 1e6 / took.count(); };
  std::printf(
      "{\"calls\": %llu, \"p50_us\": %.1f, \"p90_us\": %.1f, \"p99_us\": %.1f, \"max_us\": %.1f, "
      "\"down_mb_per_s\": %.0f, \"up_mb_per_s\": %.0f}\n",
      static_cast<unsigned long long>(seen.calls), seen.took.quantile_us(0.5), seen.took.quantile_us(0.9),
      seen.took.quantile_us(0.99), seen.took.quantile_us(1), rate(seen.down_bytes), rate(seen.up_bytes));
}

int load(char** argv) {
  try {
    coracle::runtime runtime(1);
    coracle::channel channel(runtime, std::string("127.0.0.1:") + argv[1], coracle::insecure());
    tally seen;
    coracle::sync_wait(runtime,
                       drive(stub(channel), argv[2], std::chrono::duration<double>(std::atof(argv[3])),
                             std::atoi(argv[4]), seen));
    return 0;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "bench_sharing: %s\n", e.what());
    return 1;
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2) return serve(argv[1]);
  if (argc == 6) bulk_bytes = static_cast<std::size_t>(std::atol(argv[5]));
  if (argc == 5 || argc == 6) return load(argv);
  std::fputs("usage: bench_sharing PORT [alone|down|up|both SECONDS CALLS [BYTES]]\n", stderr);
  return 2;
}
