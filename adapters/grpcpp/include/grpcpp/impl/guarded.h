// guarded(): code of the program, which may throw, or be compiled without exceptions.
#pragma once

namespace grpc::internal {

/// What `called` returns, or `thrown` if it throws.
template <class Called, class Thrown>
auto guarded(Called&& called, Thrown&& thrown) {
#ifdef __cpp_exceptions
  try {
    return called();
  } catch (...) {
    return thrown();
  }
#else
  (void)thrown;
  return called();
#endif
}

}  // namespace grpc::internal
