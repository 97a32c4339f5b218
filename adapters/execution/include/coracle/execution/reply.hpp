// reply: handlers that return senders.
#pragma once

#include "coracle/base/status.hpp"
#include "coracle/execution/provider.hpp"
#include "coracle/execution/sender_awaiter.hpp"
#include "coracle/server/replies.hpp"
#include "coracle/server/reply.hpp"
#include "coracle/server/writer.hpp"

#include <concepts>
#include <utility>

namespace coracle {

/// Returns a reply whose message is the value of `sender`, for a handler that is no coroutine:
///
///   coracle::reply<Text> Say(coracle::server_context&, const Text& request) override {
///     return coracle::as_reply(scheduler_of_my_pool.schedule() | then([&] { return answer(request); }));
///   }
///
/// The sender is started on the loop of the call. Its environment has the stop token and the deadline of the call,
/// so calls that it makes inherit them. set_error(status) ends the call with that status, other errors end it as an
/// exception of a handler does, and set_stopped() ends it with CANCELLED. The context and the request of the handler
/// exist until the sender has completed.
template <senders::provider::sender Sender>
[[nodiscard]] reply<senders::awaited_value_t<Sender>> as_reply(Sender sender) {
  co_return co_await std::move(sender);
}

/// The same for a handler with many replies of type T. `make` is called with the writer of the call and returns a
/// sender, whose value, if it has one, is ignored: the call ends with OK when the sender has completed. A message is
/// written by the sender `as_sender(out.write(message))`, which copies the message and is started on the loop of
/// the call.
template <class T, std::invocable<writer<T>> Function>
  requires senders::provider::sender<std::invoke_result_t<Function, writer<T>>>
[[nodiscard]] replies<T> as_replies(Function make) {
  const writer<T> out = co_await replies<T>::writer();
  auto sender = std::move(make)(out);
  co_await std::move(sender);
  co_return ok;
}

}  // namespace coracle
