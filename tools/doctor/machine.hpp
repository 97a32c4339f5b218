// machine: the checks of the machine on which the program runs. None changes anything.
#pragma once

#include "tools/doctor/findings.hpp"

namespace coracle::tools::doctor {

// The kernel and which backend a runtime gets, processors, clocks, and what restricts the process.
void check_kernel(findings& to);
// The limits of the process (getrlimit(2)) and of its control group.
void check_limits(findings& to);
// Ports, queues, IPv6, name servers, proxies and trusted CAs.
void check_network(findings& to);

}  // namespace coracle::tools::doctor
