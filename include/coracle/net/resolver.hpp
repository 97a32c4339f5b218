// resolver: resolves host names to addresses.
#pragma once

#include "coracle/base/result.hpp"
#include "coracle/coro/task.hpp"
#include "coracle/net/address.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace coracle {
class loop;
}

namespace coracle::net {

class dns_source;  // private: c-ares on a loop

/// A place of a service, from an SRV record (RFC 2782). A value type.
struct service_record {
  /// Without its final dot; empty: there is no such service.
  std::string host;
  /// Of the host.
  std::uint16_t port = 0;
  /// Records with smaller ones are to be used first.
  std::uint16_t priority = 0;
  /// The share among the records of the same priority.
  std::uint16_t weight = 0;

  friend bool operator==(const service_record&, const service_record&) = default;
};

/// Resolves host names to addresses. Lives on the loop of its first query; only coroutines of that loop may
/// use it. While no resolve() is in flight, it has no query in flight, no open descriptor and no thread, so
/// that a program may keep it indefinitely. It does not cache answers: each resolve() queries again.
///
/// Where the answers come from:
///
/// - IP literals, and "localhost" with all names below it (RFC 6761 6.3), are answered locally and at once.
/// - On a kernel backend c-ares answers, from /etc/hosts and from the name servers, with the search list and
///   options of /etc/resolv.conf. It reads these files when the first of several concurrent queries starts.
///   It also reads RES_OPTIONS, LOCALDOMAIN and HOSTALIASES from the environment. Reading these small files
///   blocks the loop.
/// - In a simulation the world answers: see sim::world::set_name().
class resolver {
 public:
  /// The maximum number of addresses in one answer; further addresses are dropped.
  static constexpr std::size_t answers_max = 64;

  /// Makes a resolver without a loop; that of its first query becomes its own.
  resolver() noexcept;
  /// As above, but queries `name_servers` in place of those of the machine: IP addresses with or without
  /// ports, "127.0.0.1:5353,[::1]:5353".
  explicit resolver(std::string name_servers) noexcept;
  resolver(resolver&&) noexcept;
  resolver& operator=(resolver&&) noexcept;
  /// Destroys the resolver. No resolve() may be in flight.
  ~resolver();

  /// Returns the IPv4 and IPv6 addresses of `host` with `port`, in the order in which to try them (RFC 6724,
  /// as c-ares sorts). The result is never empty. `host` is a name, or a literal such as "127.0.0.1", "::1"
  /// or "fe80::1%2".
  ///
  /// Fails with INVALID_ARGUMENT and a message that suggests a fix when `host` can be neither, with NOT_FOUND
  /// when the name does not exist or has no address, and with UNAVAILABLE when the name servers do not answer
  /// or send invalid answers. Fails at once with CANCELLED on a stop and with DEADLINE_EXCEEDED when the
  /// environment's deadline passes. c-ares can only cancel all of its queries together, so a cancelled query
  /// may stay on the wire while others are in flight. The last resolve() that ends resumes only after every
  /// socket is closed.
  ///
  /// Any number of calls may be in flight; 100 at a time are sent to the servers, and the others are queued.
  [[nodiscard]] task<result<std::vector<address>>> resolve(std::string host, std::uint16_t port);

  /// Returns the texts of the TXT records of `name`, each with its parts joined, at most answers_max. Fails
  /// as resolve() does; NOT_FOUND also means that the name has no such record. In a simulation no name has
  /// one.
  [[nodiscard]] task<result<std::vector<std::string>>> texts(std::string name);
  /// Returns the SRV records of `name`, such as "_grpc._tcp.example.org", at most answers_max, in no order.
  /// Fails as texts() does.
  [[nodiscard]] task<result<std::vector<service_record>>> services(std::string name);

 private:
  dns_source& source(loop& on);

  std::string name_servers_;
  std::unique_ptr<dns_source> dns_;
};

}  // namespace coracle::net
