// connector_dialer: has a transport::connector make the connections, wherever it leads.
#pragma once

#include "client/dialer.hpp"
#include "coracle/transport/connector.hpp"

#include <memory>
#include <utility>

namespace coracle::client {

class connector_dialer final : public dialer {
 public:
  explicit connector_dialer(std::shared_ptr<transport::connector> by) : by_(std::move(by)) {}
  // A coroutine: a connector that throws before it is one fails the attempt like any other.
  task<result<std::unique_ptr<net::duplex>>> dial(loop& on, const endpoint&) override {
    task<result<std::unique_ptr<net::duplex>>> made = by_->connect(on);
    co_return co_await std::move(made);
  }

 private:
  std::shared_ptr<transport::connector> by_;
};

inline std::shared_ptr<dialer> make_connector_dialer(std::shared_ptr<transport::connector> by) {
  return std::make_shared<connector_dialer>(std::move(by));
}

}  // namespace coracle::client
