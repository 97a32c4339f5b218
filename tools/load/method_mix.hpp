// method_mix: which of several methods each call is of.
#pragma once

#include "tools/load/request_source.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace coracle::tools::load {

// Methods with weights. Calls go through a cycle as long as the weights' sum, in which each method comes as often as it
// weighs, spread out: any whole number of cycles has the proportions exactly.
class method_mix {
 public:
  static constexpr std::uint32_t weight_max = 1000;

  // weight: 1 to weight_max.
  void add(std::unique_ptr<request_source> source, std::uint32_t weight);

  [[nodiscard]] std::size_t size() const noexcept { return sources_.size(); }
  [[nodiscard]] const request_source& at(std::size_t method) const noexcept { return *sources_[method]; }
  [[nodiscard]] std::uint32_t weight(std::size_t method) const noexcept { return weights_[method]; }
  [[nodiscard]] std::uint64_t cycle() const noexcept { return cycle_.size(); }
  // The method of the n-th call.
  [[nodiscard]] std::size_t pick(std::uint64_t n) const noexcept { return cycle_[n % cycle_.size()]; }

 private:
  std::vector<std::unique_ptr<request_source>> sources_;
  std::vector<std::uint32_t> weights_;
  std::vector<std::uint32_t> cycle_;
};

}  // namespace coracle::tools::load
