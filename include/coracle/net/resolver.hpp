// resolver: turns the names of hosts into addresses.
#pragma once

#include "coracle/base/result.hpp"
#include "coracle/coro/task.hpp"
#include "coracle/net/address.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace coracle::net {

class dns_source;  // private: c-ares on a loop

// Lives on the loop on which it is asked first; all of it is for that loop's coroutines. Nothing is in
// flight, no descriptor is open and no thread exists while nobody waits for it, so that it may be kept for
// as long as one likes. What one answer says is not kept for the next: ask again for news.
//
// Where the answers come from:
// - IP literals and "localhost" with all names below it (RFC 6761 6.3) are answered at once, here.
// - On a kernel, c-ares answers: from /etc/hosts and from the name servers, search list and options of
//   /etc/resolv.conf, which it reads when the first of several questions is asked. It also reads RES_OPTIONS,
//   LOCALDOMAIN and HOSTALIASES from the environment. These small files are read on the loop.
// - In a simulation the world answers: see sim::world::set_name().
class resolver {
 public:
  // What one answer holds at most; the rest of it is dropped.
  static constexpr std::size_t answers_max = 64;

  resolver() noexcept;
  resolver(resolver&&) noexcept;
  resolver& operator=(resolver&&) noexcept;
  // No resolve() may be waiting.
  ~resolver();

  // The addresses of `host`, IPv4 and IPv6 beside each other, never empty, in the order in which to try them
  // (RFC 6724, as c-ares sorts). `host` is a name, or a literal as in "127.0.0.1", "::1" or "fe80::1%2".
  //
  // INVALID_ARGUMENT, with the mend, for what can be neither; NOT_FOUND when there is no such name or it has
  // no address; UNAVAILABLE when the name servers do not answer or answer nonsense. CANCELLED on a stop and
  // DEADLINE_EXCEEDED by the environment's deadline, at once: c-ares can end all of its questions or none, so
  // that a question given up may still be on the wire for the sake of others. The last one to wait
  // goes on only when every socket is closed.
  //
  // Any number may wait beside each other; 100 at a time are put to the servers, the others stand in line.
  [[nodiscard]] task<result<std::vector<address>>> resolve(std::string host, std::uint16_t port);

 private:
  std::unique_ptr<dns_source> dns_;
};

}  // namespace coracle::net
