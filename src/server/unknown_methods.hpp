// unknown_methods: answers the calls of methods that a server does not have.
#pragma once

#include "server/router.hpp"

namespace coracle::server_internal {

// A row whose method ends each call with UNIMPLEMENTED, so that interceptors and the observer hear of it as of any other.
[[nodiscard]] const router::row& unknown_methods();

}  // namespace coracle::server_internal
