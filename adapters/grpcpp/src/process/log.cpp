// gpr_log(): the log lines of programs; library_log(): those of the library.
#include <grpc/grpc.h>
#include <grpc/support/log.h>
#include <grpcpp/grpcpp.h>

#include "adapters/grpcpp/src/process/library_log.hpp"

#include "coracle/base/line_logger.hpp"
#include "coracle/base/version.hpp"

#include <unistd.h>

#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string>
#include <string_view>

namespace {

// Above all lines: GRPC_VERBOSITY=none.
constexpr auto no_severity = static_cast<gpr_log_severity>(GPR_LOG_SEVERITY_ERROR + 1);

std::string_view variable(const char* name) noexcept {
  const char* const set = std::getenv(name);
  return set ? set : "";
}

gpr_log_severity severity_of_environment() noexcept {
  std::string lower;
  for (const char c : variable("GRPC_VERBOSITY")) lower += static_cast<char>(c | 0x20);
  if (lower == "debug") return GPR_LOG_SEVERITY_DEBUG;
  if (lower == "info") return GPR_LOG_SEVERITY_INFO;
  if (lower == "none") return no_severity;
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

// gpr has no warnings. Lines of that level are written unless the program turns them off, as its errors are.
gpr_log_severity severity_of(coracle::log_level level) noexcept {
  if (level == coracle::log_level::debug) return GPR_LOG_SEVERITY_DEBUG;
  return level == coracle::log_level::info ? GPR_LOG_SEVERITY_INFO : GPR_LOG_SEVERITY_ERROR;
}

// Makes text of the fields of a line for the program's function, as every logger of text gets it.
class program_log final : public coracle::logger {
 public:
  using coracle::logger::accept;

 private:
  void record(coracle::log_level level, std::string_view message) noexcept override {
    try {
      const std::string text(message);
      gpr_log_func_args written{"coracle", 0, severity_of(level), text.c_str()};
      log_function.load()(&written);
    } catch (const std::bad_alloc&) {
      return;  // without memory, the line is lost
    }
  }
};

class log_of_library final : public coracle::record_logger {
 public:
  log_of_library()
      : stderr_(STDERR_FILENO,
                coracle::log_format_of(variable("CORACLE_LOG_FORMAT")).value_or(coracle::log_format::text)) {
    // Has reported values of Coracle's variables that are none.
    static_cast<void>(set_min_levels(coracle::stderr_logger().min_levels()));
    stderr_.set_min_level(coracle::log_level::debug);
    if (!variable("CORACLE_LOG").empty()) return;
    const std::string unknown =
        grpc::internal::set_levels_of_grpc(*this, variable("GRPC_VERBOSITY"), variable("GRPC_TRACE"));
    if (!unknown.empty())
      in(coracle::log_room::adapters).warning("grpc++: GRPC_TRACE has tracers that do not exist: ", unknown);
  }

 protected:
  void accept(const coracle::log_record& line) noexcept override {
    if (log_function.load() == &write_on_stderr) stderr_.write(line);
    else program_.accept(line);
  }

 private:
  coracle::line_logger stderr_;
  program_log program_;
};

}  // namespace

namespace grpc::internal {

coracle::logger& library_log() noexcept {
  static auto& only = *new log_of_library;  // never destroyed: destructors of static objects may log
  return only;
}

}  // namespace grpc::internal

int gpr_should_log(gpr_log_severity severity) { return severity >= least().load() ? 1 : 0; }
void gpr_set_log_verbosity(gpr_log_severity least_severity) {
  using coracle::log_level;
  least() = least_severity;
  grpc::internal::library_log().set_min_level(least_severity == GPR_LOG_SEVERITY_DEBUG  ? log_level::debug
                                              : least_severity == GPR_LOG_SEVERITY_INFO ? log_level::info
                                                                                        : log_level::warning);
}
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
