// dns_config: the service config among the TXT records of a name (gRFC A2).
#pragma once

#include "coracle/base/result.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace coracle::client {

// Returns the service config of the first choice that is for this client; empty: there is none. `percent`,
// from 0 to 99, is compared with the percentage of a choice. The status is INVALID_ARGUMENT if the record is
// not of the form of A2.
[[nodiscard]] result<std::string> choose_dns_config(const std::vector<std::string>& texts,
                                                    std::string_view host_name, unsigned percent);

}  // namespace coracle::client
