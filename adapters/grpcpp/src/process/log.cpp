// gpr_log(): the log lines of programs.
#include <grpc/grpc.h>
#include <grpc/support/log.h>
#include <grpcpp/grpcpp.h>

#include "coracle/base/version.hpp"

#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <string>
#include <string_view>

namespace {

gpr_log_severity severity_of_environment() noexcept {
  const char* const set = std::getenv("GRPC_VERBOSITY");
  std::string lower;
  for (const char* c = set; c && *c; ++c) lower += static_cast<char>(*c | 0x20);
  if (lower == "debug") return GPR_LOG_SEVERITY_DEBUG;
  if (lower == "info") return GPR_LOG_SEVERITY_INFO;
  return GPR_LOG_SEVERITY_ERROR;
}

std::atomic<gpr_log_severity>& least() noexcept {
  static std::atomic<gpr_log_severity> set{severity_of_environment()};
  return set;
}

void write_on_stderr(gpr_log_func_args* line) {
  std::string_view file(line->file);
  if (const auto slash = file.rfind('/'); slash != file.npos) file.remove_prefix(slash + 1);
  std::fprintf(stderr, "%c %.*s:%d] %s\n", "DIE"[line->severity], static_cast<int>(file.size()), file.data(),
               line->line, line->message);
}

std::atomic<gpr_log_func> log_function{&write_on_stderr};

}  // namespace

int gpr_should_log(gpr_log_severity severity) { return severity >= least().load() ? 1 : 0; }
void gpr_set_log_verbosity(gpr_log_severity least_severity) { least() = least_severity; }
void gpr_set_log_function(gpr_log_func f) { log_function = f ? f : &write_on_stderr; }

void gpr_log_message(const char* file, int line, gpr_log_severity severity, const char* message) {
  if (!gpr_should_log(severity)) return;
  gpr_log_func_args written{file, line, severity, message};
  log_function.load()(&written);
}

void gpr_log(const char* file, int line, gpr_log_severity severity, const char* format, ...) {
  if (!gpr_should_log(severity)) return;
  std::va_list arguments;
  va_start(arguments, format);
  std::va_list again;
  va_copy(again, arguments);
  const int length = std::vsnprintf(nullptr, 0, format, arguments);
  va_end(arguments);
  std::string text(length > 0 ? static_cast<std::size_t>(length) : 0, '\0');
  std::vsnprintf(text.data(), text.size() + 1, format, again);
  va_end(again);
  gpr_log_message(file, line, severity, text.c_str());
}

const char* grpc_version_string() { return coracle::version_text; }

namespace grpc {

std::string Version() { return coracle::version_text; }

}  // namespace grpc
