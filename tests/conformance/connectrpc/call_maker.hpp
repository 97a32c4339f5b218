// Makes one call as the conformance suite describes it, and reports the result.
#pragma once

#include "connectrpc/conformance/v1/client_compat.pb.h"

#include <coracle/client.hpp>

namespace conformance {

namespace pb = connectrpc::conformance::v1;

// `request` must stay valid until the task has ended. Throws if the description is invalid or requests a
// feature that this client does not have.
coracle::task<pb::ClientResponseResult> make_call(coracle::runtime& runtime,
                                                  const pb::ClientCompatRequest& request);

}  // namespace conformance
