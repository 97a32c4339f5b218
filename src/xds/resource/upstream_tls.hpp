// upstream_tls: which certificates the connections of a cluster have and require (UpstreamTlsContext; gRFC
// A29, A82, A101).
#pragma once

#include "xds/resource/field_path.hpp"
#include "xds/routing/text_matcher.hpp"

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::xds {

namespace wire {
class UpstreamTlsContext;
}
struct regex_allowance;

// Whether the bootstrap has that certificate provider.
using certificate_providers = std::function<bool(std::string_view instance)>;

struct provider_instance {
  std::string instance;  // of the bootstrap
  std::string certificate;  // its name, which file_watcher does not read

  friend bool operator==(const provider_instance&, const provider_instance&) = default;
};

struct upstream_tls {
  std::optional<provider_instance> authorities;  // those of the system if there is nothing
  std::optional<provider_instance> certificate;
  std::vector<text_matcher> subject_names;  // one must fit; any certificate does if it is empty
  std::string server_name;  // for SNI
  bool sends_hostname = false;  // for SNI, before server_name
  bool checks_server_name = false;  // instead of subject_names, if SNI was sent

  friend bool operator==(const upstream_tls&, const upstream_tls&) = default;
};

// Throws invalid_resource.
[[nodiscard]] upstream_tls read_upstream_tls(const wire::UpstreamTlsContext& from,
                                             const certificate_providers& has, regex_allowance& regexes,
                                             const field_path& at);

}  // namespace coracle::xds
