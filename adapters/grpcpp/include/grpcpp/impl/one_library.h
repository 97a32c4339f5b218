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

/// Asked for by programs that make channels of descriptors, which exist everywhere here.
#define GPR_SUPPORT_CHANNELS_FROM_FD 1

// A function that a program cannot use: its name is an error of the compiler with this text.
#define CORACLE_GRPCPP_MISSING(text) __attribute__((unavailable("coracle::grpcpp: " text)))
// The same for the names of a header of which nothing exists here: programs that only include it compile.
#define CORACLE_GRPCPP_ABSENT(text) CORACLE_GRPCPP_MISSING(text)

namespace grpc::internal {

template <class>
inline constexpr bool is_missing = true;

}  // namespace grpc::internal

// GPR_ASSERT, gpr_log() and GPR_LIKELY are names that programs have from any header.
#include <grpc/support/log.h>            // IWYU pragma: export
#include <grpc/support/port_platform.h>  // IWYU pragma: export
