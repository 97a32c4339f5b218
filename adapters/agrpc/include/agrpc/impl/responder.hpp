// responder: what a reader or writer of grpc++ is, given by reference or by a unique_ptr.
#pragma once

#include "agrpc/impl/initiate.hpp"
#include "agrpc/impl/library.hpp"

#include <grpcpp/support/status.h>

#include <memory>
#include <type_traits>

namespace agrpc::inline CORACLE_ASIO::internal {

template <class T>
T& dereferenced(T& value) noexcept {
  return value;
}
template <class T, class Deleter>
T& dereferenced(const std::unique_ptr<T, Deleter>& pointer) noexcept {
  return *pointer;
}
template <class T, class Deleter>
T& dereferenced(std::unique_ptr<T, Deleter>& pointer) noexcept {
  return *pointer;
}
template <class T>
using dereferenced_t = std::remove_reference_t<decltype(dereferenced(std::declval<T&>()))>;

// A step that starts one operation of grpc++, with the ok of its event as result.
template <class Function>
struct one_event {
  using result = bool;
  void start(GrpcContext&, void* tag) { function(tag); }
  [[nodiscard]] static bool take(bool ok) noexcept { return ok; }
  Function function;
};
template <class Function, class Token>
auto start_on_token(Function function, Token&& token) {
  return initiate_on_token(one_event<Function>{std::move(function)}, std::forward<Token>(token));
}

// An I/O object of this library, such as a ClientRPC, rather than a responder of grpc++.
template <class T>
concept io_object = requires(T& t) {
  typename T::executor_type;
  t.get_executor();
};

}  // namespace agrpc::inline CORACLE_ASIO::internal
