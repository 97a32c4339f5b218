// secured_ends: a TLS client and a TLS server over a duplex in memory, in a simulated world whose
// certificates are valid.
#pragma once

#include "coracle/coro/sleep.hpp"
#include "coracle/runtime/sim.hpp"
#include "coracle/runtime/sync_wait.hpp"
#include "net/memory_duplex.hpp"
#include "support/certificates.hpp"
#include "unit/net/recorder.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>

namespace coracle::tls {

using net::recorder;
using testing_support::pair_of;
using testing_support::served_as;
using testing_support::trusting;

// What two sides consist of; several connections may share it.
struct two_sides {
  std::shared_ptr<security::server_security> server;
  std::shared_ptr<security::client_security> client;
  two_sides(const server_options& s, const client_options& c)
      : server(s.build().value()), client(c.build().value()) {}
};

struct secured_ends {
  recorder client;
  recorder server;
  secured_ends(std::unique_ptr<net::duplex> c, std::unique_ptr<net::duplex> s)
      : client(std::move(c)), server(std::move(s)) {}
  // Whatever happened before.
  task<> close() {
    if (client.line) co_await client.closed_down();
    if (server.line) co_await server.closed_down();
  }
};

inline std::unique_ptr<secured_ends> connect(two_sides& sides, const std::string& host = "localhost",
                                             std::size_t buffer_bytes = 64 * 1024) {
  loop& here = *loop::current();
  net::memory_pair_options options;
  options.buffer_bytes = buffer_bytes;
  auto [c, s] = net::make_memory_duplex_pair(here, here, options);
  return std::make_unique<secured_ends>(sides.client->secure(here, std::move(c), host),
                                        sides.server->secure(here, std::move(s)));
}

class a_secured_connection : public testing::Test {
 protected:
  explicit a_secured_connection(const sim::world_options& options = {}) : world_(1, options) {
    testing_support::certificates::made();  // not later than the world's time
    const auto behind = std::chrono::system_clock::now() - host_.at(0).wall_now();
    world_.jump_wall_clock("host", std::chrono::duration_cast<duration>(behind));
  }
  template <class... Args>
  void run(task<> (*test)(Args...), std::type_identity_t<Args>... args) {
    sync_wait(host_, host_.at(0), test(std::move(args)...));
  }
  sim::world world_;
  runtime& host_ = world_.host("host", 1);
};

}  // namespace coracle::tls
