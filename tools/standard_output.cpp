#include "tools/standard_output.hpp"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <string>

namespace coracle::tools {

static_assert(exit_reader_closed == 128 + SIGPIPE);

namespace {

std::string error_text(int error) {
  std::string text = "standard output cannot be written";
  if (error != 0) text.append(": ").append(std::strerror(error));
  return text;
}

}  // namespace

output_failure::output_failure(int error) : failure(error_text(error)), reader_closed_(error == EPIPE) {}

void print(std::string_view text) {
  errno = 0;
  if (std::fwrite(text.data(), 1, text.size(), stdout) < text.size()) throw output_failure(errno);
  flush_output();
}

void flush_output() {
  errno = 0;  // an errno from before this call may be stale
  const bool lost = std::fflush(stdout) != 0;
  if (lost || std::ferror(stdout)) throw output_failure(errno);
}

}  // namespace coracle::tools
