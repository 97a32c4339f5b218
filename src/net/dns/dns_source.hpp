// dns_source: names looked up by c-ares on one loop; what stands behind a resolver on a kernel.
#pragma once

#include "coracle/base/result.hpp"
#include "coracle/coro/task.hpp"
#include "coracle/net/address.hpp"
#include "coracle/runtime/loop.hpp"
#include "net/dns/dns_settings.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace coracle::net {

class dns_channel;

// Owned by a resolver. Questions that wait beside each other share one c-ares channel: the first opens it, the
// last closes it and waits until its sockets are closed. Thus nothing is left behind anywhere, and
// each batch of questions finds /etc/resolv.conf as it is by then.
class dns_source {
 public:
  explicit dns_source(loop& on, dns_settings settings = {});
  dns_source(const dns_source&) = delete;
  dns_source& operator=(const dns_source&) = delete;
  // Nobody may be waiting.
  ~dns_source();

  // See resolver::resolve(). `host` has passed check_host_name().
  task<result<std::vector<address>>> look_up(std::string host, std::uint16_t port);
  [[nodiscard]] loop& home() const noexcept { return on_; }

 private:
  loop& on_;
  const dns_settings settings_;
  std::unique_ptr<dns_channel> open_;
  std::size_t waiting_ = 0;  // on open_
  std::size_t inside_ = 0;  // in look_up(), those that close an older channel included
};

}  // namespace coracle::net
