// entrance: one listening socket of a server, on loop 0.
#pragma once

#include "coracle/base/log.hpp"
#include "net/acceptor.hpp"

#include <functional>
#include <memory>
#include <utility>

namespace coracle::serving {

// Owned by loop 0's shard, which destroys it when it is told that the socket is closed.
class entrance final : private net::acceptor_sink {
 public:
  entrance(std::unique_ptr<net::acceptor> a, logger& log, std::function<void(io::handle)> accepted,
           std::function<void(entrance&)> closed)
      : acceptor_(std::move(a)), log_(log), accepted_(std::move(accepted)), closed_(std::move(closed)) {
    acceptor_->start(*this);
  }
  void close() noexcept { acceptor_->close(); }

 private:
  void accepted(io::handle connection) noexcept override { accepted_(connection); }
  void accept_failed(status why) noexcept override {
    log_.write(log_level::error, "listening ended: " + why.to_string());
  }
  void closed() noexcept override { closed_(*this); }

  std::unique_ptr<net::acceptor> acceptor_;
  logger& log_;
  std::function<void(io::handle)> accepted_;
  std::function<void(entrance&)> closed_;
};

}  // namespace coracle::serving
