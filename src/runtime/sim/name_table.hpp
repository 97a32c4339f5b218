// name_table: the name service of a simulated world.
#pragma once

#include "coracle/runtime/sim.hpp"
#include "runtime/backend.hpp"
#include "runtime/sim/endpoint.hpp"

#include <map>
#include <string>
#include <string_view>

namespace coracle::sim {

// One for all hosts of a world, like DNS. Names are compared without regard to case and to a final dot.
class name_table {
 public:
  // Replaces the previous record of the name.
  void set(std::string_view name, const name_record& record);
  // `host` is the address of the host with that name, if there is one. A record takes precedence over it.
  [[nodiscard]] runtime_internal::name_answer resolve_name(std::string_view name, const endpoint* host) const;

 private:
  std::map<std::string, name_record, std::less<>> records_;
};

}  // namespace coracle::sim
