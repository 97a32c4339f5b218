// client_instruments: what clients of control planes measure (gRFC A78, with the states of A88).
#pragma once

#include "coracle/base/metrics.hpp"

#include <array>
#include <string_view>

namespace coracle::xds {

constexpr instrument of_xds_client(instrument_kind kind, std::string_view name, std::string_view unit,
                                   std::string_view description, label_keys labels) {
  return {.name = name,
          .description = description,
          .unit = unit,
          .kind = kind,
          .labels = labels,
          .optional_labels = {},
          .bounds = {},
          .on_by_default = false};
}

inline constexpr instrument client_connected =
    of_xds_client(instrument_kind::gauge, "grpc.xds_client.connected", "{bool}",
                  "Whether the stream to a control plane works: 1 or 0.", {"grpc.target", "grpc.xds.server"});
inline constexpr instrument client_server_failure = of_xds_client(
    instrument_kind::counter, "grpc.xds_client.server_failure", "{failure}",
    "Control planes that worked and can no longer be reached.", {"grpc.target", "grpc.xds.server"});
inline constexpr instrument client_updates_valid =
    of_xds_client(instrument_kind::counter, "grpc.xds_client.resource_updates_valid", "{resource}",
                  "Resources that came and were valid, also without a change.",
                  {"grpc.target", "grpc.xds.server", "grpc.xds.resource_type"});
inline constexpr instrument client_updates_invalid = of_xds_client(
    instrument_kind::counter, "grpc.xds_client.resource_updates_invalid", "{resource}",
    "Resources that came and were rejected.", {"grpc.target", "grpc.xds.server", "grpc.xds.resource_type"});
inline constexpr instrument client_resources = of_xds_client(
    instrument_kind::gauge, "grpc.xds_client.resources", "{resource}", "Resources that are subscribed.",
    {"grpc.target", "grpc.xds.authority", "grpc.xds.cache_state", "grpc.xds.resource_type"});

inline constexpr std::array<const instrument*, 5> client_instruments{
    &client_connected, &client_server_failure, &client_updates_valid, &client_updates_invalid,
    &client_resources};

}  // namespace coracle::xds
