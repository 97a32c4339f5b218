// Makes one call as the conformance suite describes it, and tells what came of it.
#pragma once

#include "connectrpc/conformance/v1/client_compat.pb.h"

#include <coracle/client.hpp>

namespace conformance {

namespace pb = connectrpc::conformance::v1;

// `request` must stay until the task has ended. Throws when the description makes no sense or asks for what
// this client does not have.
coracle::task<pb::ClientResponseResult> make_call(coracle::runtime& runtime,
                                                  const pb::ClientCompatRequest& request);

}  // namespace conformance
