// outlier_ledger: which servers of a channel are ejected because they fail calls (gRFC A50).
#pragma once

#include "client/balancing/balancer.hpp"
#include "client/balancing/subchannel.hpp"
#include "coracle/base/status.hpp"
#include "coracle/client/balancing_options.hpp"
#include "coracle/net/address.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

namespace coracle::client {

// Shared by the loops of a channel. Each loop counts in outcomes of its own, which a sweep adds up; the loop
// that first notices that a sweep is due makes it.
class outlier_ledger final : public shared_by_loops {
 public:
  // What a sweep did, for metrics: one element for each server that was, or would have been, ejected.
  struct finding {
    std::string_view method;
    std::string_view unenforced;  // the reason; empty: the server is ejected
  };

  // Counts the attempts of one loop on the server in the result. leave() with the same outcomes ends that.
  [[nodiscard]] std::shared_ptr<attempt_outcomes> join(const net::address& server);
  void leave(const std::shared_ptr<attempt_outcomes>& outcomes) noexcept;
  // Judges the servers if that is due. `percent` draws a number from 0 to 99. Appends what it did to `found`.
  // listed: how many servers there are, if some of them have no outcomes. Returns when the next sweep is due.
  time_point sweep(const outlier_detection_options& by, time_point now,
                   const std::function<std::uint32_t()>& percent, std::vector<finding>& found,
                   std::size_t listed = 0);
  // Brings all servers back, and forgets that they were ejected.
  void bring_all_back() noexcept;
  // Why the server is ejected; OK if it is not.
  [[nodiscard]] status ejection_of(const net::address& server) const noexcept;

 private:
  struct server_record {
    std::vector<std::shared_ptr<attempt_outcomes>> by_loop;
    std::uint64_t succeeded_gone = 0;  // of loops that have left
    std::uint64_t failed_gone = 0;
    std::uint64_t succeeded_before = 0;  // at the last sweep
    std::uint64_t failed_before = 0;
    std::uint64_t succeeded = 0;  // in the interval that the last sweep ended
    std::uint64_t failed = 0;
    status ejected;  // OK: it is not
    time_point ejected_at{};
    std::uint32_t multiplier = 0;
    [[nodiscard]] std::uint64_t attempts() const noexcept { return succeeded + failed; }
  };
  void end_interval() noexcept;
  void judge_by_success_rate(const outlier_detection_options& by, time_point now,
                             const std::function<std::uint32_t()>& percent, std::vector<finding>& found);
  void judge_by_failures(const outlier_detection_options& by, time_point now,
                         const std::function<std::uint32_t()>& percent, std::vector<finding>& found);
  [[nodiscard]] std::vector<server_record*> with_attempts(std::uint32_t volume, std::uint32_t hosts);
  // Returns false if too many servers are ejected already.
  bool eject(server_record& r, const outlier_detection_options& by, std::uint32_t enforcement, time_point now,
             const std::function<std::uint32_t()>& percent, std::string_view method,
             std::vector<finding>& found);
  void bring_back(const outlier_detection_options& by, time_point now) noexcept;

  mutable std::mutex mutex_;
  std::map<net::address, server_record> servers_;
  std::size_t listed_ = 0;  // as of the last sweep
  time_point due_ = never;
  duration interval_{};
};

}  // namespace coracle::client
