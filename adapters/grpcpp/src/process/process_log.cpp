#include "adapters/grpcpp/src/process/process_log.hpp"

#include "adapters/grpcpp/src/process/library_log.hpp"
#include "adapters/grpcpp/src/threads/client_runtime.hpp"

#include "coracle/base/result.hpp"

#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>

namespace grpc::internal {
namespace {

[[noreturn]] void refuse(const coracle::status& reason) {
  std::fprintf(stderr, "coracle::grpcpp: %s\n", std::string(reason.message()).c_str());
  std::_Exit(EXIT_FAILURE);
}

// "%p" is the number of the process.
std::string file_name() {
  const char* const set = std::getenv("CORACLE_BINARY_LOG");
  std::string name(set && *set ? set : "binary_log.%p");
  for (std::size_t at = name.find("%p"); at != name.npos; at = name.find("%p", at))
    name.replace(at, 2, std::to_string(::getpid()));
  return name;
}

// Of the process that made it. A child of fork() has no thread that writes to the file.
struct opened_log {
  const std::uint32_t generation = counted_generation();
  std::shared_ptr<coracle::binary_log_file> file;
  std::shared_ptr<const coracle::binary_log> log;
  [[nodiscard]] bool is_of_this_process() const noexcept { return generation == process_generation(); }
};

const opened_log& the_log();

opened_log log_of_environment() {
  opened_log opened;
  const char* const filter = std::getenv("GRPC_BINARY_LOG_FILTER");
  if (!filter || !*filter) return opened;
  const std::string name = file_name();
  auto file = coracle::binary_log_file::open(name);
  if (!file) refuse(file.status());
  opened.file = *std::move(file);
  auto made = coracle::binary_log::from_environment(opened.file);
  if (!made) refuse(made.status());
  opened.log = *std::move(made);
  std::atexit([] {
    if (the_log().is_of_this_process()) the_log().file->flush();
  });
  library_log()
      .in(coracle::log_room::adapters)
      .warning("grpc++: GRPC_BINARY_LOG_FILTER is set: calls are logged to ", name);
  return opened;
}

// Never destroyed: calls may be logged until the end.
const opened_log& the_log() {
  static const auto& only = *new opened_log(log_of_environment());
  return only;
}

}  // namespace

const std::shared_ptr<const coracle::binary_log>& process_log() {
  static const auto& none = *new std::shared_ptr<const coracle::binary_log>;
  return the_log().is_of_this_process() ? the_log().log : none;
}

}  // namespace grpc::internal
