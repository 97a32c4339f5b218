#include "server/admission/rejection.hpp"

#include "base/if_memory_allows.hpp"
#include "protocol/grpc/status_headers.hpp"
#include "runtime/repeated_lines.hpp"
#include "server/server_instruments.hpp"

#include <utility>

namespace coracle::server_internal {

rejection::rejection(status s, std::string_view limit) : outcome_(std::move(s)), limit_(limit) {
  protocol::grpc::add_status(fields_, outcome_);
}

// Never destroyed: calls may run while the program exits.
const rejection& rejection::overloaded() {
  static const auto& r = *new rejection(
      status::unavailable("the server is overloaded (see server_options::admission)"), "overload");
  return r;
}

const rejection& rejection::too_late() {
  static const auto& r = *new rejection(
      status::deadline_exceeded(
          "calls of the method usually take longer than until the deadline (see server_options::admission)"),
      "deadline");
  return r;
}

void rejection_log::count(const rejection& r, const net::address& peer) noexcept {
  ++counted_;
  measure_rejection(r.limit());
  if (loop_.now() >= log_at_) base::if_memory_allows([&] { write(r, peer); });
}

void rejection_log::write(const rejection& last, const net::address& peer) {
  log_at_ = deadline_after(loop_.now(), repeated_lines::interval);
  const std::uint64_t n = counted_ - std::exchange(logged_, counted_);
  loop_.log()
      .in(log_room::server)
      .warning(subject_, " rejected calls: ", n, " since the last such line; now of ", peer, ": ",
               last.outcome().message());
}

}  // namespace coracle::server_internal
