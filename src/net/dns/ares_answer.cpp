#include "net/dns/ares_answer.hpp"

#include "coracle/net/resolver.hpp"
#include "net/name_error.hpp"
#include "net/raw_address.hpp"

#include <ares.h>
#include <algorithm>
#include <cstring>
#include <string>

namespace coracle::net {

namespace {

address address_of(const ares_addrinfo_node& node, std::uint16_t port) {
  runtime_internal::raw_address raw;
  raw.size = static_cast<std::uint32_t>(std::min<std::size_t>(node.ai_addrlen, sizeof raw.bytes));
  std::memcpy(raw.bytes, node.ai_addr, raw.size);
  return from_raw(raw).with_port(port);
}

std::vector<address> addresses_of(const ares_addrinfo& found, std::uint16_t port) {
  std::vector<address> all;
  for (const ares_addrinfo_node* n = found.nodes; n && all.size() < resolver::answers_max; n = n->ai_next) {
    address one = address_of(*n, port);
    // /etc/hosts may name one several times.
    if (one.is_ip() && std::find(all.begin(), all.end(), one) == all.end()) all.push_back(std::move(one));
  }
  return all;
}

status what_went_wrong(int ares_status, std::string_view host) {
  std::string text(host);
  text.append(": ").append(ares_strerror(ares_status));
  switch (ares_status) {
    case ARES_ENOTFOUND:
    case ARES_ENONAME: return no_such_name(host);
    case ARES_SUCCESS:
    case ARES_ENODATA: return no_address(host);
    case ARES_EBADNAME: return status::invalid_argument(text);
    case ARES_ENOMEM:
    case ARES_EFILE: return status::resource_exhausted(text);
    case ARES_ECANCELLED:
    case ARES_EDESTRUCTION: return name_stopped(host);
    case ARES_EBADRESP:
      return status::unavailable(std::string(host) + ": the name server gave an answer that makes no sense");
    // Versions of c-ares differ in which of these they say, when all servers have failed in some way.
    case ARES_ECONNREFUSED:
    case ARES_ESERVFAIL:
    case ARES_EREFUSED:
    case ARES_ENOTIMP:
    case ARES_EFORMERR:
    case ARES_ETIMEOUT: return no_name_server(host);
    default: return status::unavailable(text);
  }
}

}  // namespace

result<std::vector<address>> ares_answer(int ares_status, const ares_addrinfo* found, std::string_view host,
                                         std::uint16_t port) {
  if (ares_status != ARES_SUCCESS || !found) return what_went_wrong(ares_status, host);
  std::vector<address> all = addresses_of(*found, port);
  if (all.empty()) return no_address(host);
  return all;
}

}  // namespace coracle::net
