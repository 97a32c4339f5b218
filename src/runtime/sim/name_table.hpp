// name_table: the name service of a simulated world.
#pragma once

#include "coracle/runtime/name_record.hpp"
#include "runtime/name_answer.hpp"
#include "runtime/sim/endpoint.hpp"

#include <map>
#include <string>
#include <string_view>

namespace coracle::sim {

// One for all hosts of a world, as DNS is. Names are compared without regard to case and to a final dot.
class name_table {
 public:
  // Takes the place of what was said of the name before.
  void set(std::string_view name, const name_record& record);
  // `host` is the address of the host of that name, where there is one: a record goes before it.
  [[nodiscard]] runtime_internal::name_answer look_up(std::string_view name, const endpoint* host) const;

 private:
  std::map<std::string, name_record, std::less<>> records_;
};

}  // namespace coracle::sim
