#include "net/open_descriptor.hpp"

#include "coracle/base/usage_error.hpp"
#include "net/connect.hpp"

namespace coracle::net {

result<std::unique_ptr<open_descriptor>> open_descriptor::open(int descriptor, ownership whose) {
  CORACLE_REQUIRE(descriptor >= 0, "an input or output requires a valid file descriptor");
  loop& on = current_loop();
  if (!on.io().takes_descriptors())
    return status::unimplemented("a simulation has no file descriptors of the machine: use net::pipe()");
  return std::make_unique<open_descriptor>(on, descriptor, whose);
}

open_descriptor::open_descriptor(loop& owner_loop, runtime_internal::handle h, ownership whose) noexcept
    : on(owner_loop), descriptor(h), owned(whose), on_disk(owner_loop.io().is_disk_file(h)) {}

open_descriptor::~open_descriptor() {
  CORACLE_ASSERT(
      !waiting,
      "an input or output was closed or destroyed while a task waits for it: stop and join the task first");
  on.io().forget(descriptor);
  if (owned == ownership::owned) on.io().close(descriptor);
}

}  // namespace coracle::net
