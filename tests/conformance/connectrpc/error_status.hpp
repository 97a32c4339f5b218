// Converts between the suite's Error and the status of a call.
#pragma once

#include "connectrpc/conformance/v1/service.pb.h"

#include <coracle/base/status.hpp>

namespace conformance {

// With the error's details as those of the status. An error without a code is invalid here: UNKNOWN.
coracle::status status_of(const connectrpc::conformance::v1::Error& error);
// `why` is not ok.
connectrpc::conformance::v1::Error error_of(const coracle::status& failure);

}  // namespace conformance
