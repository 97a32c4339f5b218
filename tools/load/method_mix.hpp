// method_mix: distributes the calls over several methods.
#pragma once

#include "tools/load/request_source.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace coracle::tools::load {

// Methods with weights. The calls repeat a cycle whose length is the sum of the weights, in which each method
// occurs as often as its weight, evenly spread: any whole number of cycles has exactly the proportions of the
// weights.
class method_mix {
 public:
  static constexpr std::uint32_t weight_max = 1000;

  // `weight` is between 1 and weight_max.
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
