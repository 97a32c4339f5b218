#include "load_reports.hpp"

namespace interop {

void add(coracle::load_report& to, const grpc::testing::TestOrcaReport& wanted) {
  to.set_cpu_utilization(wanted.cpu_utilization());
  to.set_memory_utilization(wanted.memory_utilization());
  for (const auto& [name, cost] : wanted.request_cost()) to.set_cost(name, cost);
  for (const auto& [name, share] : wanted.utilization()) to.set_utilization(name, share);
}

}  // namespace interop
