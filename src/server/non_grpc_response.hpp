// non_grpc_response: responds to requests that are not gRPC.
#pragma once

#include "server/router.hpp"
#include "server/web_call.hpp"
#include "transport/exchange.hpp"

namespace coracle::server_internal {

// Responds to a request that is not gRPC, and takes `x` over. GET / and HEAD / get a static page that says
// that this is a gRPC server; it names no services, because interceptors do not check such a request. Any
// other request gets 404, 405, or 415 for a POST with an unsupported content-type.
//
// The whole response is sent at once, END_STREAM included: a client that streams its body may wait for the
// response before it continues. If more of the body may follow, RST_STREAM(NO_ERROR) is sent after the
// response (RFC 9113 8.1). A request without a content-type is not reset: its body is dropped as it arrives,
// and is still checked for errors.
// `permission`: for the page that has sent the request, so that it can read the response; may be null.
[[gnu::noinline]] void respond_non_grpc(transport::exchange x, const request_info& request,
                                        const cross_origin* permission, bool end_stream);

// The same for a request that its protocol rejects.
[[gnu::noinline]] void respond(transport::exchange x, const request_info& request,
                               const web_rejection& rejection, bool end_stream);

// 204 with these fields, such as those of a response to a preflight request.
[[gnu::noinline]] void respond_no_content(transport::exchange x, const http::header_list& fields,
                                          const cross_origin* permission, bool end_stream);

}  // namespace coracle::server_internal
