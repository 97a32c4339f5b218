// wait: waits for an alarm of grpc++.
#pragma once

#include "agrpc/alarm.hpp"
#include "agrpc/default_completion_token.hpp"
#include "agrpc/impl/initiate.hpp"
#include "agrpc/impl/library.hpp"

#include <grpcpp/alarm.h>

#include <utility>

namespace agrpc::inline CORACLE_ASIO {

/// Waits for `deadline` in the GrpcContext of the completion handler's executor. The handler's signature is
/// `void(bool)`, with false if `alarm` was cancelled. The alarm must outlive the wait.
/// Cancellation: all types.
template <class Deadline, class Token = DefaultCompletionToken>
auto wait(grpc::Alarm& alarm, const Deadline& deadline, Token&& token = Token()) {
  return internal::initiate_on_token(internal::wait_for_alarm<Deadline>{&alarm, deadline},
                                     std::forward<Token>(token));
}

}  // namespace agrpc::inline CORACLE_ASIO
