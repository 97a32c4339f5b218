// From what c-ares says to addresses or a status.
#pragma once

#include "coracle/base/result.hpp"
#include "coracle/net/address.hpp"

#include <cstdint>
#include <string_view>
#include <vector>

struct ares_addrinfo;

namespace coracle::net {

// `found` is looked at only when the status is ARES_SUCCESS.
result<std::vector<address>> ares_answer(int ares_status, const ares_addrinfo* found, std::string_view host,
                                         std::uint16_t port);

}  // namespace coracle::net
