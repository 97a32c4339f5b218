#include "coracle/base/line_logger.hpp"

#include "base/log_line.hpp"
#include "base/printable.hpp"

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <string_view>
#include <system_error>
#include <utility>

namespace coracle {

namespace {

int open_log(const std::string& path) noexcept {
  constexpr int permissions = 0640;  // lines name peers and paths: not for every user
  return ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, permissions);
}

status cannot_open(const std::string& path, int error) {
  return status::failed_precondition("cannot open the log " + path + ": " +
                                     std::generic_category().message(error));
}

}  // namespace

std::optional<log_format> log_format_of(std::string_view name) noexcept {
  if (name == "text") return log_format::text;
  if (name == "json") return log_format::json;
  if (name == "logfmt") return log_format::logfmt;
  return std::nullopt;
}

// A line in the parts that exist already, so that none is copied.
struct line_logger::pieces {
  std::array<std::string_view, 6> all;
};

line_logger::line_logger(int descriptor, log_format format) noexcept
    : format_(format), descriptor_(descriptor) {}

line_logger::line_logger(std::FILE* file, log_format format) noexcept : format_(format), file_(file) {}

line_logger::~line_logger() {
  if (!path_.empty()) ::close(descriptor_);
}

result<std::unique_ptr<line_logger>> line_logger::open(std::string path, log_format format) {
  const int opened = open_log(path);
  if (opened < 0) return cannot_open(path, errno);
  auto made = std::make_unique<line_logger>(opened, format);
  made->path_ = std::move(path);
  return made;
}

// Other threads write to the descriptor meanwhile: dup3() replaces the file behind it at once.
status line_logger::reopen() {
  if (path_.empty()) return status::failed_precondition("the log has no path to open again");
  const int opened = open_log(path_);
  if (opened < 0) return cannot_open(path_, errno);
  const int replaced = ::dup3(opened, descriptor_, O_CLOEXEC);
  const int error = errno;
  ::close(opened);
  return replaced < 0 ? cannot_open(path_, error) : status();
}

void line_logger::accept(const log_record& line) noexcept {
  base::log_line formatted;
  bool written = false;
  if (format_ == log_format::text) {
    formatted.format_fields(line);
    std::string_view fields = formatted.bytes();
    if (line.text.empty()) fields = fields.substr(std::min<std::size_t>(1, fields.size()));
    written = write_all({{"coracle: ", to_string(line.level), ": ", line.text, fields, "\n"}});
  } else {
    if (format_ == log_format::json) formatted.format_json(line);
    else formatted.format_logfmt(line);
    written = write_all({{formatted.bytes()}});
  }
  if (!written) lost_.fetch_add(1, std::memory_order_relaxed);
}

bool line_logger::write_all(const pieces& of) noexcept {
  std::size_t bytes = 0;
  for (const std::string_view piece : of.all) bytes += piece.size();
  if (file_) {
    std::size_t written = 0;
    ::flockfile(file_);
    for (const std::string_view piece : of.all)
      written += ::fwrite_unlocked(piece.data(), 1, piece.size(), file_);
    const bool flushed = ::fflush_unlocked(file_) == 0;
    ::funlockfile(file_);
    return flushed && written == bytes;
  }
  std::array<::iovec, 6> parts{};
  for (std::size_t i = 0; i < parts.size(); ++i)
    parts[i] = {const_cast<char*>(of.all[i].data()), of.all[i].size()};
  ssize_t written = 0;
  do written = ::writev(descriptor_, parts.data(), static_cast<int>(parts.size()));
  while (written < 0 && errno == EINTR);
  return written >= 0 && static_cast<std::size_t>(written) == bytes;
}

namespace {

// Returns the logger for stderr before the environment has set its levels.
line_logger& with_format_of_environment() {
  const char* const set = std::getenv("CORACLE_LOG_FORMAT");
  const std::string_view name = set ? set : "";
  const auto format = log_format_of(name);
  // Never destroyed: destructors of static objects may log.
  auto& made = *new line_logger(STDERR_FILENO, format.value_or(log_format::text));
  made.set_min_level(log_level::warning);
  if (!format && !name.empty())
    made.warning("CORACLE_LOG_FORMAT is \"", base::printable(name), "\": it must be text, json or logfmt");
  return made;
}

line_logger& with_levels_of_environment() {
  line_logger& made = with_format_of_environment();
  const char* const set = std::getenv("CORACLE_LOG");
  if (!set || !*set) return made;
  if (const status s = made.set_min_levels(set); !s.ok()) made.warning("CORACLE_LOG has ", s.message());
  return made;
}

}  // namespace

logger& stderr_logger() noexcept {
  static line_logger& only = with_levels_of_environment();
  return only;
}

}  // namespace coracle
