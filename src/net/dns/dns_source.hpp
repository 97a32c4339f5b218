// dns_source: resolves names with c-ares on one loop; implements resolver on kernel backends.
#pragma once

#include "coracle/base/result.hpp"
#include "coracle/coro/task.hpp"
#include "coracle/net/address.hpp"
#include "coracle/runtime/loop.hpp"
#include "net/dns/dns_channel.hpp"
#include "net/dns/dns_question.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace coracle::net {

class dns_channel;

// Owned by a resolver. Concurrent queries share one c-ares channel: the first opens it, and the last closes
// it and waits until its sockets are closed. No socket or timer thus remains between batches, and each batch
// of queries reads the current /etc/resolv.conf.
class dns_source {
 public:
  explicit dns_source(loop& on, dns_settings settings = {});
  dns_source(const dns_source&) = delete;
  dns_source& operator=(const dns_source&) = delete;
  // No resolve_name() may be in flight.
  ~dns_source();

  // Implements resolver::resolve(). `host` must have passed check_host_name().
  task<result<std::vector<address>>> resolve_name(std::string host, std::uint16_t port);
  // The same for records of `kind`, which is not dns_kind::addresses.
  task<result<dns_answer>> records(std::string name, dns_kind kind);
  [[nodiscard]] loop& owner_loop() const noexcept { return on_; }

 private:
  task<result<dns_answer>> ask(std::string name, std::uint16_t port, dns_kind kind);

  loop& on_;
  const dns_settings settings_;
  std::unique_ptr<dns_channel> open_;
  std::size_t waiting_ = 0;  // queries in flight on open_
  std::size_t inside_ = 0;  // calls of ask() in flight, including those that close an older channel
};

}  // namespace coracle::net
