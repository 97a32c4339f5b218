// The suite's Error and a call's status: both ways.
#pragma once

#include "connectrpc/conformance/v1/service.pb.h"

#include <coracle/base/status.hpp>

namespace conformance {

// With the error's details as those of the status. An error without a code has no meaning here: UNKNOWN.
coracle::status status_of(const connectrpc::conformance::v1::Error& error);
// `why` is not ok.
connectrpc::conformance::v1::Error error_of(const coracle::status& why);

}  // namespace conformance
