// random_below: a source of random numbers that a pure function is given.
#pragma once

#include <cstdint>

namespace coracle::base {

// Gives a random number from 0 to below - 1. Refers to the function that it is made of.
class random_below {
 public:
  template <class F>
  random_below(const F& f) noexcept  // NOLINT(google-explicit-constructor)
      : of_(&f), call_([](const void* of, std::uint64_t below) -> std::uint64_t {
          return (*static_cast<const F*>(of))(below);
        }) {}
  [[nodiscard]] std::uint64_t operator()(std::uint64_t below) const { return call_(of_, below); }

 private:
  const void* of_;
  std::uint64_t (*call_)(const void* of, std::uint64_t below);
};

}  // namespace coracle::base
