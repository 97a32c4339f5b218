// generic_stub: calls any method by its path, with bytes or with any message types.
#pragma once

#include "coracle/client/stub.hpp"
#include "coracle/rpc/bytes_message.hpp"

#include <concepts>
#include <type_traits>
#include <utility>

namespace coracle {

/// Makes calls without generated code. Like a generated stub it keeps a handle of the channel. A path is
/// "/package.Service/Method", and must stay valid until the call ends, as a literal does.
///
///   auto reply = co_await any.unary("/movie.MovieService/AddMovie", coracle::bytes_message(request_bytes));
class generic_stub {
 public:
  /// Calls through `by`, of which it keeps a handle.
  explicit generic_stub(channel by) noexcept : channel_(std::move(by)) {}

  /// Makes a unary call. The request must outlive the await.
  template <class Reply = bytes_message, class Request>
  [[nodiscard]] unary_call<Reply> unary(method_path path, const Request& request,
                                        const call_options& options = call_options::defaults()) const {
    return {channel_, path.unregistered(), request, options};
  }
  /// The same with a request that is moved in, and may be a temporary.
  template <class Reply = bytes_message, class Request>
    requires std::move_constructible<Request> && (!std::is_reference_v<Request> && !std::is_const_v<Request>)
  [[nodiscard]] owning_unary_call<Request, Reply> unary(
      method_path path, Request&& request, const call_options& options = call_options::defaults()) const {
    return {channel_, path.unregistered(), std::move(request), options};
  }
  /// Makes a call with many requests and one reply.
  template <class Request = bytes_message, class Reply = bytes_message>
  [[nodiscard]] client_streaming_call<Request, Reply> client_streaming(
      method_path path, const call_options& options = call_options::defaults()) const {
    return {channel_, path.unregistered(), options};
  }
  /// Makes a call with one request, which is serialized at once, and many replies.
  template <class Reply = bytes_message, class Request>
  [[nodiscard]] server_streaming_call<Reply> server_streaming(
      method_path path, const Request& request,
      const call_options& options = call_options::defaults()) const {
    return {channel_, path.unregistered(), request, options};
  }
  /// Calls a method of any kind: a unary method is a stream with one message in each direction.
  template <class Request = bytes_message, class Reply = bytes_message>
  [[nodiscard]] bidi_call<Request, Reply> bidi(method_path path,
                                               const call_options& options = call_options::defaults()) const {
    return {channel_, path.unregistered(), options};
  }

 private:
  channel channel_;
};

}  // namespace coracle
