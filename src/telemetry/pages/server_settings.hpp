// server_settings: the limits and the options of a server, for the pages of operators.
#pragma once

#include "services/json_text.hpp"

namespace coracle {
class runtime;
class server_snapshot;
namespace server_internal {
class server_state;
}
}  // namespace coracle

namespace coracle::telemetry_internal {

// An array of {"name", "unit", "limit", "used", "source"}. `limit` is null where there is no limit, `used`
// where the server keeps no count. `source` is "default" or "program": whether the value differs from the
// default.
[[nodiscard]] services::ordered_json limits_of(const server_internal::server_state& of,
                                               const server_snapshot& now);
// What each loop admits, an array; see docs/reference/pages_json.md.
[[nodiscard]] services::ordered_json admission_of(const server_snapshot& now);
// An array of {"name", "value", "source"}.
[[nodiscard]] services::ordered_json settings_of(const server_internal::server_state& of);
[[nodiscard]] services::ordered_json settings_of(runtime& of);
// The environment variables that the library reads and that hold no secrets: an array of {"name", "value"},
// where the value of a variable that is not set is null.
[[nodiscard]] services::ordered_json known_environment();

}  // namespace coracle::telemetry_internal
