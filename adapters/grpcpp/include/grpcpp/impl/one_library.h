// Every header of this adapter includes this one first: a source file sees the headers of one library alone.
#pragma once

#if defined(GRPC_IMPL_CODEGEN_PORT_PLATFORM_H) || defined(GRPC_SUPPORT_PORT_PLATFORM_H)
#error \
    "a source file includes the headers of coracle::grpcpp and of another grpc++: link and include one of them"
#endif

// The headers of the other library stop with an #error of their own if they are included after these.
#ifndef GPR_NO_AUTODETECT_PLATFORM
#define GPR_NO_AUTODETECT_PLATFORM 1
#endif

/// Defined by the headers of coracle::grpcpp, for programs that are also compiled with another grpc++.
#define CORACLE_GRPCPP 1

// A function that a program cannot use: its name is an error of the compiler with this text.
#define CORACLE_GRPCPP_MISSING(text) __attribute__((unavailable("coracle::grpcpp: " text)))

namespace grpc::internal {

template <class>
inline constexpr bool is_missing = true;

}  // namespace grpc::internal
