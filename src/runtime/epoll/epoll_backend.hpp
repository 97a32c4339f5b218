// make_epoll_backend: the backend for kernels and containers without io_uring.
#pragma once

#include "runtime/backend.hpp"

#include "coracle/base/log.hpp"

#include <memory>

namespace coracle::runtime_internal {

// Null, with the errno, when descriptors or memory are exhausted. `log` must outlive the backend.
std::unique_ptr<backend> make_epoll_backend(logger& log, int& error);

}  // namespace coracle::runtime_internal
