// server_load: the load of a server as the calls of one loop report it (gRFC A51).
#pragma once

#include "coracle/base/clock.hpp"
#include "coracle/rpc/load_report.hpp"
#include "server/load_sources.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace coracle::server_internal {

// Belongs to a loop. Keeps what it has read from the load_reporter until that may have changed.
class server_load {
 public:
  // trailers: whether calls report it.
  server_load(load_sources& of, bool trailers) : of_(of), trailers_(trailers), tally_(of.add_tally()) {}

  void call_ended(bool ok) noexcept { tally_->add(ok); }
  [[nodiscard]] bool in_trailers() const noexcept { return trailers_; }
  // Returns the serialized report of a call that has recorded `own`, or nothing (null), which may be empty.
  // Throws std::bad_alloc.
  [[nodiscard]] std::string report_with(const load_report* own, time_point now);

 private:
  load_sources& of_;  // kept alive by the options of the server
  const bool trailers_;
  const std::shared_ptr<call_tally> tally_;
  std::uint64_t version_ = 0;
  std::optional<time_point> read_at_;
  load_report kept_;
  std::string serialized_;
};

}  // namespace coracle::server_internal
