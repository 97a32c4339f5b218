// weighted_round_robin: picks servers in proportion to weights that follow from their load (gRFC A58).
#pragma once

#include "client/balancing/slow_start.hpp"
#include "coracle/client/balancing_options.hpp"
#include "coracle/client/pick_policy.hpp"
#include "coracle/client/server_labels.hpp"
#include "coracle/runtime/loop.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::client {

// Picks positions in proportion to weights, without a state but a counter: position i of n has its turn once
// in n picks, and takes it as often as its share of the largest weight says (static stride, gRFC A58).
class stride_schedule {
 public:
  // All weights 0, or fewer than two above 0: every position in turn. Else a weight of 0 stands for the mean
  // of the others. Returns whether it is in turn.
  bool set(const std::vector<double>& weights);
  [[nodiscard]] std::size_t next(std::uint32_t& sequence) const noexcept;

 private:
  std::vector<std::uint16_t> shares_;  // empty: every position in turn
  std::size_t positions_ = 0;
};

// Weights are computed at picks, when the update period has passed.
class weighted_round_robin final : public pick_policy {
 public:
  weighted_round_robin(const weighted_round_robin_options& options, loop& here, std::string target,
                       server_labels labels);

  void ready_changed(std::span<const pick_candidate> ready) override;
  std::size_t pick(std::span<const pick_candidate> ready, const pick_info&) override;
  [[nodiscard]] bool wants_load_of_calls() const override { return !options_.oob_load_report; }
  [[nodiscard]] std::optional<duration> load_interval() const override;
  void load_reported(const pick_candidate& server, const load_report& load) override;

 private:
  struct server_weight {
    double value = 0;
    time_point reported{};
    std::uint32_t times_ready = 0;  // of the server, when this began
    std::optional<time_point> usable_since;  // the first report since READY or since the weight expired
  };
  [[nodiscard]] std::optional<double> utilization_of(const load_report& load) const;
  [[nodiscard]] double weight_of(server_weight& w);
  void schedule(std::span<const pick_candidate> ready);

  const weighted_round_robin_options options_;
  loop& loop_;
  const std::string target_;
  const server_labels labels_;
  std::optional<slow_start> growth_;
  std::map<std::uint64_t, server_weight> weights_;  // of those that are READY, by subchannel::id()
  stride_schedule schedule_;
  std::uint32_t sequence_;
  time_point next_update_{};
};

// Picks servers in turn, in proportion to their slow start.
class slow_start_round_robin final : public pick_policy {
 public:
  slow_start_round_robin(const slow_start_options& options, loop& here);

  void ready_changed(std::span<const pick_candidate> ready) override;
  std::size_t pick(std::span<const pick_candidate> ready, const pick_info&) override;

 private:
  void schedule(std::span<const pick_candidate> ready);

  loop& loop_;
  slow_start growth_;
  stride_schedule schedule_;
  std::uint32_t sequence_;
  time_point next_update_ = never;
};

}  // namespace coracle::client
