// bootstrap: who the control planes of a process are, and who the process is to them (gRFC A27, A47, A65,
// A71).
#pragma once

#include "coracle/base/clock.hpp"
#include "coracle/base/result.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::xds {

struct locality {
  std::string region;
  std::string zone;
  std::string sub_zone;

  friend bool operator==(const locality&, const locality&) = default;
  friend auto operator<=>(const locality&, const locality&) = default;
};
// The value of grpc.lb.locality (gRFC A78); empty if nothing is known.
[[nodiscard]] std::string label_of(const locality& l);

// Files of certificates that are read anew every `refresh_interval`. An empty path means that there is none;
// without authorities, those of the system hold.
struct certificate_files {
  std::string certificate;
  std::string private_key;
  std::string authorities;
  std::string spiffe_trust_bundles;  // gRFC A87
  duration refresh_interval = std::chrono::seconds(600);

  [[nodiscard]] bool has_authorities() const noexcept {
    return !authorities.empty() || !spiffe_trust_bundles.empty();
  }

  friend bool operator==(const certificate_files&, const certificate_files&) = default;
};

// With which credentials a channel is made: with TLS, or in plaintext.
struct channel_security {
  std::optional<certificate_files> tls;
  std::vector<std::string> jwt_token_files;  // gRFC A97, a token for each call from each

  friend bool operator==(const channel_security&, const channel_security&) = default;
};

struct management_server {
  std::string uri;  // a target of gRPC
  channel_security security;
  // Of server_features. ignore_resource_deletion (gRFC A53) is what gRFC A88 makes the rule.
  bool trusted = false;  // gRFC A81
  bool fail_on_data_errors = false;  // gRFC A88
  bool resource_timer_is_transient_error = false;  // gRFC A88

  friend bool operator==(const management_server&, const management_server&) = default;
};

struct authority {
  std::vector<management_server> servers;  // the highest priority first, never empty
  std::string listener_template;
  bool fallback_on_reachability_only = false;  // gRFC A95

  friend bool operator==(const authority&, const authority&) = default;
};

struct node_identity {
  std::string id;
  std::string cluster;
  std::string metadata;  // JSON of an object, or empty
  xds::locality locality;

  friend bool operator==(const node_identity&, const node_identity&) = default;
};

struct bootstrap {
  std::vector<management_server> servers;  // the highest priority first; empty if each authority has its own
  node_identity node;
  std::map<std::string, authority, std::less<>> authorities;
  std::string client_listener_template = "%s";
  std::optional<std::string> server_listener_template;
  // Instances with a plugin that is known, which is file_watcher.
  std::map<std::string, certificate_files, std::less<>> certificate_providers;
  std::map<std::string, channel_security, std::less<>> allowed_services;

  // The servers of an authority, or of names without one; null if the bootstrap has no such authority.
  [[nodiscard]] const std::vector<management_server>* servers_of(
      std::string_view authority_name) const noexcept;

  friend bool operator==(const bootstrap&, const bootstrap&) = default;
};

// INVALID_ARGUMENT with the path of the wrong field. Unknown fields are ignored.
[[nodiscard]] result<bootstrap> parse_bootstrap(std::string_view json);

// Reads the file that GRPC_XDS_BOOTSTRAP names, or else the JSON in GRPC_XDS_BOOTSTRAP_CONFIG;
// FAILED_PRECONDITION if neither is set.
[[nodiscard]] result<bootstrap> load_bootstrap();
// Reads a file.
[[nodiscard]] result<bootstrap> read_bootstrap(const std::string& path);

// The name of the Listener for the target xds://AUTHORITY/NAME, or xds:///NAME with an empty authority (gRFC
// A47).
[[nodiscard]] result<std::string> client_listener_name(const bootstrap& from, std::string_view authority_name,
                                                       std::string_view name);
// The name of the Listener of a server that listens on `address`, "IP:port".
[[nodiscard]] result<std::string> server_listener_name(const bootstrap& from, std::string_view address);

}  // namespace coracle::xds
