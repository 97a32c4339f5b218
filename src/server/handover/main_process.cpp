#include "server/handover/main_process.hpp"

#include "runtime/kernel/service_manager.hpp"

#include <cstdio>
#include <utility>

namespace coracle::server_internal {

namespace kernel = runtime_internal::kernel;

void main_process::ready() noexcept {
  is_followed_ = true;
  static_cast<void>(kernel::notify_service_manager("READY=1"));
}

void main_process::replaced_by(std::int64_t process_id) noexcept {
  is_followed_ = false;
  char text[40];
  std::snprintf(text, sizeof text, "MAINPID=%lld", static_cast<long long>(process_id));
  static_cast<void>(kernel::notify_service_manager(text));
}

void main_process::stopping() noexcept {
  if (std::exchange(is_followed_, false)) static_cast<void>(kernel::notify_service_manager("STOPPING=1"));
}

}  // namespace coracle::server_internal
