// The course of a call from its description: options, requests, and when to cancel.
#pragma once

#include "connectrpc/conformance/v1/client_compat.pb.h"

#include <coracle/client.hpp>

#include <chrono>
#include <optional>
#include <stdexcept>
#include <string>

namespace conformance {

namespace pb = connectrpc::conformance::v1;

coracle::call_options options_for(const pb::ClientCompatRequest& request);
coracle::channel_options channel_options_for(const pb::ClientCompatRequest& request);
coracle::channel_credentials credentials_for(const pb::ClientCompatRequest& request);

// When to cancel; none of the three: never.
struct cancel_plan {
  bool before_close = false;
  std::optional<std::chrono::milliseconds> after_close;
  int after_replies = 0;
};
cancel_plan cancel_plan_for(const pb::ClientCompatRequest& request);

// Request i, which must be of the method's type.
template <class Request>
Request request_message(const pb::ClientCompatRequest& request, int i) {
  Request message;
  if (!request.request_messages(i).UnpackTo(&message))
    throw std::runtime_error("request " + std::to_string(i) + " is no " + Request::descriptor()->full_name());
  return message;
}
template <class Request>
Request single_request(const pb::ClientCompatRequest& request) {
  if (request.request_messages_size() != 1) throw std::runtime_error("this method takes one request");
  return request_message<Request>(request, 0);
}

}  // namespace conformance
