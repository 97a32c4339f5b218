// retried_credentials: credentials of files, which may not be there yet.
#pragma once

#include "coracle/base/result.hpp"
#include "coracle/security/credentials.hpp"

#include <mutex>
#include <optional>
#include <utility>

namespace coracle::xds {

// Builds the credentials of Options at their first use, and again at each use until that succeeds. Any
// thread may use it.
template <class Options, class Security>
class retried_credentials {
 public:
  explicit retried_credentials(result<Options>&& of) : options_(std::move(of)) {}

  [[nodiscard]] security::credentials<Security> get() {
    if (!options_) return security::built<Security>(options_.status());
    const std::lock_guard lock(mutex_);
    if (!built_ || !built_->failure().ok()) built_.emplace(*options_);
    return *built_;
  }

 private:
  const result<Options> options_;
  std::mutex mutex_;
  std::optional<security::credentials<Security>> built_;
};

}  // namespace coracle::xds
