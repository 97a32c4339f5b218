// make_epoll_backend: the backend for kernels and containers without io_uring.
#pragma once

#include "runtime/backend.hpp"

#include "coracle/base/log.hpp"

#include <memory>
#include <string>

namespace coracle::io {

// Null, with the reason in `why`, when the process may not have it (descriptors exhausted).
// `log` must outlive the backend.
std::unique_ptr<backend> make_epoll_backend(logger& log, std::string& why);

}  // namespace coracle::io
