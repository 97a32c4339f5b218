// gpr_log: log lines of the program, on stderr; GPR_ASSERT.
#pragma once

#include <grpcpp/impl/one_library.h>

#include <cstdlib>

enum gpr_log_severity {
  GPR_LOG_SEVERITY_DEBUG,
  GPR_LOG_SEVERITY_INFO,
  GPR_LOG_SEVERITY_ERROR,
};

#define GPR_DEBUG __FILE__, __LINE__, GPR_LOG_SEVERITY_DEBUG
#define GPR_INFO __FILE__, __LINE__, GPR_LOG_SEVERITY_INFO
#define GPR_ERROR __FILE__, __LINE__, GPR_LOG_SEVERITY_ERROR

struct gpr_log_func_args {
  const char* file;
  int line;
  gpr_log_severity severity;
  const char* message;
};
typedef void (*gpr_log_func)(gpr_log_func_args* args);

/// Writes a line on stderr if its severity is at least the verbosity: that of gpr_set_log_verbosity(), or of
/// the environment variable GRPC_VERBOSITY (debug, info, error, none), or else error.
void gpr_log(const char* file, int line, gpr_log_severity severity, const char* format, ...)
    __attribute__((format(printf, 4, 5)));
void gpr_log_message(const char* file, int line, gpr_log_severity severity, const char* message);
int gpr_should_log(gpr_log_severity severity);
/// Sets the verbosity of these lines and of those of the library.
void gpr_set_log_verbosity(gpr_log_severity least);
/// Has `f` called in place of writing on stderr, also for the lines of the library; null restores that.
void gpr_set_log_function(gpr_log_func f);

#define GPR_ASSERT(x)                                 \
  do {                                                \
    if (__builtin_expect(!(x), 0)) {                  \
      gpr_log(GPR_ERROR, "assertion failed: %s", #x); \
      abort();                                        \
    }                                                 \
  } while (0)
#define GPR_DEBUG_ASSERT(x) GPR_ASSERT(x)
