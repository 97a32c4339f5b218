#include "coracle/runtime/loop.hpp"

#include "runtime/backend.hpp"

#include <utility>

namespace coracle {

const char loop::kind_ = 0;

loop::loop(runtime& owner, std::size_t index, logger& log, coracle::io::backend& backend) noexcept
    : executor(&kind_),
      owner_(owner),
      index_(index),
      log_(log),
      backend_(backend),
      stop_(std::in_place),
      environment_{stop_->token()} {}

loop* loop::current() noexcept {
  executor* e = executor::current();
  return e && e->kind() == &kind_ ? static_cast<loop*>(e) : nullptr;
}

std::string_view loop::backend_name() const noexcept { return backend_.name(); }

}  // namespace coracle
