// call_stats: what came of the calls of the xDS interop client.
#pragma once

#include "grpc/testing/xds.coracle.hpp"

#include <coracle/client.hpp>
#include <coracle/coro/event.hpp>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace interop {

namespace pb = grpc::testing;

enum class call_kind : unsigned char { empty, unary };

// As the results of GetClientStats have it, and as those of GetClientAccumulatedStats do.
[[nodiscard]] inline const char* name_of(call_kind kind) noexcept {
  return kind == call_kind::empty ? "EmptyCall" : "UnaryCall";
}
[[nodiscard]] inline const char* constant_of(call_kind kind) noexcept {
  return kind == call_kind::empty ? "EMPTY_CALL" : "UNARY_CALL";
}

// What a call has to tell when it ends.
struct call_outcome {
  call_kind kind = call_kind::unary;
  std::uint64_t number = 0;
  coracle::status status;
  std::string server;  // its host name; empty if the call failed
  coracle::metadata initial;
  coracle::metadata trailing;
};

// Belongs to one loop.
class call_stats {
 public:
  // Returns the number of the call.
  std::uint64_t begin(call_kind kind);
  void end(const call_outcome& of);
  [[nodiscard]] pb::LoadBalancerAccumulatedStatsResponse all() const;
  // Waits for the ends of as many calls as the request says, beginning with the next one.
  [[nodiscard]] coracle::task<pb::LoadBalancerStatsResponse> next_ones(pb::LoadBalancerStatsRequest request);

 private:
  struct watch {
    std::uint64_t first;
    std::int32_t left;
    std::uint64_t end;
    std::set<std::string> keys;
    pb::LoadBalancerStatsResponse found{};
    coracle::event<> complete{};
  };
  static void count(watch& in, const call_outcome& of);

  std::uint64_t next_ = 0;
  std::map<call_kind, std::int32_t> begun_;
  std::map<call_kind, std::map<coracle::status_code, std::int32_t>> ended_;
  std::vector<watch*> watches_;
};

}  // namespace interop
