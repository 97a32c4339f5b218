// main_process: what the service manager hears of the processes of a service that replace each other.
#pragma once

#include <cstdint>

namespace coracle::server_internal {

// Whether the service manager follows this process. Belongs to the handover of a server; lives on loop 0.
// Allocates no memory. Does nothing where there is no service manager.
class main_process {
 public:
  // This process serves, and is the main one.
  void ready() noexcept;
  // Another process is the main one from now on.
  void replaced_by(std::int64_t process_id) noexcept;
  // This process ends: news of the service only while it is the main one, since a service manager would end
  // the others, too. Idempotent.
  void stopping() noexcept;

 private:
  bool is_followed_ = false;
};

}  // namespace coracle::server_internal
