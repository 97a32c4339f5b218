// generic_stub: calls of any method, by its path, in bytes or with any message types.
#pragma once

#include "coracle/client/stub.hpp"
#include "coracle/rpc/bytes_message.hpp"

#include <concepts>
#include <type_traits>
#include <utility>

namespace coracle {

// Like a generated stub: the channel must stay while the stub and its calls are in use. A path is
// "/package.Service/Method", and must stay until its call's end, as literals do.
//
//   auto reply = co_await any.unary("/movie.MovieService/AddMovie", coracle::bytes_message(request_bytes));
class generic_stub {
 public:
  explicit generic_stub(call_channel& channel) noexcept : channel_(&channel) {}

  template <class Reply = bytes_message, class Request>
  [[nodiscard]] unary_call<Reply> unary(const char* path, const Request& request,
                                        const call_options& options = {}) const {
    return {*channel_, path, request, options};
  }
  template <class Reply = bytes_message, class Request>
    requires std::move_constructible<Request> && (!std::is_reference_v<Request> && !std::is_const_v<Request>)
  [[nodiscard]] owning_unary_call<Request, Reply> unary(const char* path, Request&& request,
                                                        const call_options& options = {}) const {
    return {*channel_, path, std::move(request), options};
  }
  template <class Request = bytes_message, class Reply = bytes_message>
  [[nodiscard]] client_streaming_call<Request, Reply> client_streaming(
      const char* path, const call_options& options = {}) const {
    return {*channel_, path, options};
  }
  template <class Reply = bytes_message, class Request>
  [[nodiscard]] server_streaming_call<Reply> server_streaming(const char* path, const Request& request,
                                                              const call_options& options = {}) const {
    return {*channel_, path, request, options};
  }
  // Any kind of method can be called so: a unary one is a stream of one message each way.
  template <class Request = bytes_message, class Reply = bytes_message>
  [[nodiscard]] bidi_call<Request, Reply> bidi(const char* path, const call_options& options = {}) const {
    return {*channel_, path, options};
  }

 private:
  call_channel* channel_;
};

}  // namespace coracle
