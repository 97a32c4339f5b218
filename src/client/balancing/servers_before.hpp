// servers_before: finds which server of the last list an endpoint of the next one is (gRFC A61).
#pragma once

#include "coracle/client/resolver.hpp"
#include "coracle/net/address.hpp"

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <vector>

namespace coracle::client {

// An endpoint is the server with the same first address, or else one that has this address among its others,
// if no endpoint has that one's first address: the order of the addresses may change, and some may come and
// go.
class servers_before {
 public:
  explicit servers_before(const std::vector<endpoint>& next) {
    for (const endpoint& e : next) first_of_next_.insert(e.address());
  }

  // With the number of servers that were added before it.
  void add(const endpoint& where) {
    by_first_.emplace(where.address(), taken_.size());
    if (!first_of_next_.contains(where.address()))
      for (const net::address& a : where.other_addresses()) by_other_.emplace(a, taken_.size());
    taken_.push_back(false);
  }
  // Returns its number; nothing if there is none, or if another endpoint has taken it.
  [[nodiscard]] std::optional<std::size_t> take(const endpoint& e) {
    for (const auto* const known : {&by_first_, &by_other_}) {
      const auto found = known->find(e.address());
      if (found == known->end() || taken_[found->second]) continue;
      taken_[found->second] = true;
      return found->second;
    }
    return std::nullopt;
  }

 private:
  std::set<net::address> first_of_next_;
  std::map<net::address, std::size_t> by_first_;
  std::map<net::address, std::size_t> by_other_;
  std::vector<bool> taken_;
};

}  // namespace coracle::client
