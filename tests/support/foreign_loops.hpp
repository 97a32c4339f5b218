// foreign_loops: the event loops of other libraries, as examples/08_foreign_loop drives a runtime in them,
// for tests with each.
#pragma once

#include "08_foreign_loop/foreign_loop.hpp"

#include <memory>
#include <ostream>
#include <string>
#include <vector>

namespace coracle::testing_support {

struct foreign_loop_kind {
  std::string name;
  std::unique_ptr<foreign_loop> (*make)();
};
inline void PrintTo(const foreign_loop_kind& k, std::ostream* out) { *out << k.name; }

// Those that this program was linked with: one source of support/foreign_loops each.
inline std::vector<foreign_loop_kind>& foreign_loops() {
  static std::vector<foreign_loop_kind> all;
  return all;
}
struct linked_foreign_loop {
  template <class Loop>
  static linked_foreign_loop of(const char* name) {
    foreign_loops().push_back(
        {name, []() -> std::unique_ptr<foreign_loop> { return std::make_unique<Loop>(); }});
    return {};
  }
};

}  // namespace coracle::testing_support
