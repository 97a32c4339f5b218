// common_tls: what the TLS contexts of clients and servers have in common (CommonTlsContext).
#pragma once

#include "xds/resource/matchers.hpp"
#include "xds/resource/upstream_tls.hpp"

#include <optional>
#include <vector>

namespace coracle::xds {

namespace wire {
class CommonTlsContext;
}

struct common_tls {
  std::optional<provider_instance> authorities;
  std::optional<provider_instance> certificate;
  bool system_authorities = false;
  bool matches_names = false;
  std::vector<text_matcher> subject_names;
};

// Throws invalid_resource.
[[nodiscard]] common_tls read_common_tls(const wire::CommonTlsContext& from, const certificate_providers& has,
                                         regex_allowance& regexes, const field_path& at);

}  // namespace coracle::xds
