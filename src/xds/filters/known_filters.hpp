// The kinds of filters, for filter_types.
#pragma once

#include "xds/filters/filter.hpp"

#include <memory>

namespace coracle {
class xds_filter_type;
}

namespace coracle::xds {

// It passes calls on, and reads no field.
[[nodiscard]] std::shared_ptr<const filter_type> router_filter();
// Delays and fails a share of the calls of clients (envoy.extensions.filters.http.fault.v3; gRFC A33).
[[nodiscard]] std::shared_ptr<const filter_type> fault_filter();
// Keeps the calls of a session on one server, by a cookie (envoy.extensions.filters.http.stateful_session.v3;
// gRFC A55, A60).
[[nodiscard]] std::shared_ptr<const filter_type> stateful_session_filter();
// Admits the calls of servers by rules (envoy.extensions.filters.http.rbac.v3; gRFC A41).
[[nodiscard]] std::shared_ptr<const filter_type> rbac_filter();
// One of the program.
[[nodiscard]] std::shared_ptr<const filter_type> filter_of_program(std::shared_ptr<const xds_filter_type> of);

}  // namespace coracle::xds
