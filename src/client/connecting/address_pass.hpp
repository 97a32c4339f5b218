// address_pass: which addresses of a server are still to be tried, until one has an established connection
// (gRFC A61: a connection that TCP establishes, and that then is silent or breaks, is no answer).
#pragma once

#include "client/connecting/dialer.hpp"
#include "coracle/client/resolver.hpp"
#include "coracle/coro/stop_token.hpp"
#include "coracle/net/address.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace coracle::client {

[[nodiscard]] inline bool has_address(const endpoint& e, const net::address& a) {
  return e.address() == a ||
         std::find(e.other_addresses().begin(), e.other_addresses().end(), a) != e.other_addresses().end();
}

template <class F>
void for_each_address(const endpoint& of, F f) {
  f(of.address());
  for (const net::address& a : of.other_addresses()) f(a);
}

// The addresses of the server may change meanwhile: those that it no longer has are left, and new ones are
// still to be tried.
class address_pass {
 public:
  // A connection was made to `at` by dialing `these`, which nothing but SETTINGS establishes.
  void reached(const endpoint& these, const net::address& at) {
    // A proxy, or the program's connector, decides by itself where it leads to.
    if (!has_address(these, at) || has_tried(at)) return tried(these);
    tried_.push_back(at);
  }
  // None of them is to be tried again.
  void tried(const endpoint& these) {
    for_each_address(these, [this](const net::address& a) { tried_.push_back(a); });
  }
  // The server with the addresses that have not been tried; nothing: there are none.
  [[nodiscard]] std::optional<endpoint> rest(const endpoint& server) const {
    std::optional<endpoint> left;
    for_each_address(server, [&](const net::address& a) {
      if (has_tried(a)) return;
      if (left) left->add_address(a);
      else left.emplace(a);
    });
    return left;
  }

  // For the dialing that begins: stop_dialing() stops it.
  [[nodiscard]] coro::stop_token stop_token() {
    stop_ = std::make_shared<coro::stop_source>();
    return stop_->token();
  }
  void stop_dialing() noexcept {
    if (const auto kept = stop_) kept->request_stop();
  }
  // Whether that was stopped, when it is over.
  [[nodiscard]] bool was_stopped() noexcept {
    const auto of_last = std::exchange(stop_, nullptr);
    return of_last && of_last->stop_requested();
  }

  // To some of the rest. What follows their changes, while it runs: null if it cannot, and begins again.
  bool is_dialing = false;
  dial_in_progress* running = nullptr;
  // What it dials: those that the server had with its last change that the dialing followed.
  std::optional<endpoint> dialed{};

 private:
  [[nodiscard]] bool has_tried(const net::address& a) const {
    return std::find(tried_.begin(), tried_.end(), a) != tried_.end();
  }

  std::vector<net::address> tried_;
  std::shared_ptr<coro::stop_source> stop_;
};

}  // namespace coracle::client
