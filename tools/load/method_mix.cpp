#include "tools/load/method_mix.hpp"

#include <algorithm>
#include <utility>

namespace coracle::tools::load {

void method_mix::add(std::unique_ptr<request_source> source, std::uint32_t weight) {
  sources_.push_back(std::move(source));
  weights_.push_back(weight);
  std::int64_t sum = 0;
  for (const std::uint32_t w : weights_) sum += w;
  // Smooth weighted round-robin: in each step every method gains its weight as credit; the method with the
  // most credit is picked, and pays the sum of all weights.
  cycle_.clear();
  std::vector<std::int64_t> credit(weights_.size());
  for (std::int64_t turn = 0; turn < sum; ++turn) {
    for (std::size_t i = 0; i < credit.size(); ++i) credit[i] += weights_[i];
    const auto richest = std::max_element(credit.begin(), credit.end());
    *richest -= sum;
    cycle_.push_back(static_cast<std::uint32_t>(richest - credit.begin()));
  }
}

}  // namespace coracle::tools::load
