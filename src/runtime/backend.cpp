#include "runtime/backend.hpp"

#include "runtime/kernel/file_calls.hpp"
#include "runtime/kernel/inherited_sockets.hpp"
#include "runtime/kernel/process_signals.hpp"
#include "runtime/kernel/socket_path.hpp"
#include "runtime/kernel/stream_calls.hpp"

namespace coracle::runtime_internal {

std::int64_t backend::adopt_listener(int descriptor) noexcept { return kernel::adopt_listener(descriptor); }

std::int64_t backend::remove_stale_path(const raw_address& at) noexcept {
  return kernel::remove_stale_path(at);
}
void backend::remove_path(const raw_address& at) noexcept { kernel::remove_path(at); }

bool backend::is_disk_file(handle h) noexcept { return kernel::is_disk_file(h); }
std::int64_t backend::open_pipe(handle (&ends)[2]) noexcept { return kernel::open_pipe(ends); }

std::int64_t backend::perform_file(operation& op) noexcept { return kernel::perform_file(op); }
bool backend::has_positions(handle h) noexcept { return kernel::has_positions(h); }
void backend::close_file(handle h) noexcept { kernel::close_file(h); }

std::int64_t backend::open_signals(std::uint32_t set) noexcept { return kernel::open_signals(set); }
std::uint32_t backend::take_signals(handle h) noexcept { return kernel::take_signals(h); }
void backend::close_signals(handle h) noexcept {
  kernel::forget_signals(h);
  close(h);  // the backend's own close(), which also discards its state of the descriptor
}

bool backend::look_up(std::string_view, name_answer&) { return false; }

}  // namespace coracle::runtime_internal
