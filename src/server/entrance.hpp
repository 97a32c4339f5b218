// entrance: one listening socket of a server, on loop 0.
#pragma once

#include "base/if_memory_allows.hpp"
#include "coracle/base/log.hpp"
#include "net/acceptor.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

namespace coracle::server_internal {

// Owned by loop 0's shard, which destroys it when it is told that the socket is closed.
class entrance final : private net::acceptor_sink {
 public:
  entrance(std::uint64_t id, std::unique_ptr<net::acceptor> a, logger& log,
           std::function<void(runtime_internal::handle)> accepted, std::function<void(entrance&)> closed)
      : id_(id),
        acceptor_(std::move(a)),
        log_(log),
        accepted_(std::move(accepted)),
        closed_(std::move(closed)) {
    acceptor_->start(*this);
  }
  void close() noexcept { acceptor_->close(); }
  [[nodiscard]] std::uint64_t id() const noexcept { return id_; }
  [[nodiscard]] const net::address& local_address() const noexcept { return acceptor_->local_address(); }

 private:
  void accepted(runtime_internal::handle connection) noexcept override { accepted_(connection); }
  void accept_failed(status why) noexcept override {
    base::if_memory_allows([&] { log_.write(log_level::error, "listening ended: " + why.to_string()); });
  }
  void closed() noexcept override { closed_(*this); }

  const std::uint64_t id_;  // among the server's connections and listeners
  std::unique_ptr<net::acceptor> acceptor_;
  logger& log_;
  std::function<void(runtime_internal::handle)> accepted_;
  std::function<void(entrance&)> closed_;
};

}  // namespace coracle::server_internal
