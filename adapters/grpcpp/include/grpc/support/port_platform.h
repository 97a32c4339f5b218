// What the compiler and the machine are, and names for the compiler's extensions.
#pragma once

#include <grpcpp/impl/one_library.h>

#ifdef __linux__
#define GPR_LINUX 1
#define GPR_PLATFORM_STRING "linux"
#endif
#if __SIZEOF_POINTER__ == 8
#define GPR_ARCH_64 1
#else
#define GPR_ARCH_32 1
#endif
#define GPR_HAS_PTHREAD_H 1
#define GPR_CACHELINE_SIZE 64
#ifdef __cpp_exceptions
#define GRPC_ALLOW_EXCEPTIONS 1
#else
#define GRPC_ALLOW_EXCEPTIONS 0
#endif

#define GPR_LIKELY(x) __builtin_expect((x), 1)
#define GPR_UNLIKELY(x) __builtin_expect((x), 0)
#define GPR_ATTRIBUTE_NOINLINE __attribute__((noinline))
#define GPR_PRINT_FORMAT_CHECK(format, first) __attribute__((format(printf, format, first)))
#define GRPC_DEPRECATED(reason) [[deprecated(reason)]]
#define GRPC_MUST_USE_RESULT __attribute__((warn_unused_result))
#define GRPC_UNUSED __attribute__((unused))
#define GPRAPI
#define GRPCAPI

/// Ends the program. The statement, such as a return, is for compilers that ask for one.
#define GPR_UNREACHABLE_CODE(statement)                       \
  do {                                                        \
    gpr_log(GPR_ERROR, "code that must not run was reached"); \
    abort();                                                  \
    statement;                                                \
  } while (0)
