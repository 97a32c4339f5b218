// Where TLS credentials get certificate revocation lists from.
#pragma once

#include <grpcpp/support/config.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace grpc {

namespace internal {

// Why a provider cannot be: OK, or INVALID_ARGUMENT. It converts to absl::Status.
class provider_status {
 public:
  provider_status() = default;
  explicit provider_status(std::string message) : message_(std::move(message)) {}
  bool ok() const { return message_.empty(); }
  std::string_view message() const { return message_; }
  std::string ToString() const { return ok() ? "OK" : "INVALID_ARGUMENT: " + message_; }
  void IgnoreError() const {}
  template <class Status, class Code = decltype(std::declval<const Status&>().code()),
            class = std::enable_if_t<std::is_enum_v<Code>>>
  operator Status() const {
    if (ok()) return Status();
    return Status(static_cast<Code>(3), {message_.data(), message_.size()});
  }

 private:
  std::string message_;
};

// A provider, or why there is none. It has the functions of absl::StatusOr, and converts to it.
template <class Provider>
class provider_or_status {
 public:
  provider_or_status(Provider made) : made_(std::move(made)) {}
  provider_or_status(provider_status why) : why_(std::move(why)) {}
  bool ok() const { return why_.ok(); }
  const provider_status& status() const { return why_; }
  const Provider& value() const& { return made_; }
  Provider value() && { return std::move(made_); }
  const Provider& operator*() const& { return made_; }
  Provider operator*() && { return std::move(made_); }
  const Provider* operator->() const { return &made_; }
  template <class Other, class Status = std::decay_t<decltype(std::declval<const Other&>().status())>,
            class = std::enable_if_t<std::is_constructible_v<Other, Provider> &&
                                     std::is_convertible_v<provider_status, Status>>>
  operator Other() const {
    if (ok()) return Other(made_);
    return Other(static_cast<Status>(why_));
  }

 private:
  Provider made_{};
  provider_status why_;
};

}  // namespace internal

namespace experimental {

/// Made by the two functions below; programs do not derive from it.
class CrlProvider {
 public:
  // For the library.
  struct sources {
    std::vector<std::string> texts;
    std::string directory;
    std::chrono::seconds interval{0};
    bool deny_undetermined = false;
    std::function<void(const internal::provider_status&)> on_error;  // may be empty
  };
  explicit CrlProvider(sources from) : from_(std::move(from)) {}
  const sources& from() const { return from_; }

  bool DenyUndetermined() const { return from_.deny_undetermined; }

 private:
  const sources from_;
};

/// CRLs as PEM texts. One that is invalid fails every call of the channel, and the server that would use it.
inline internal::provider_or_status<std::shared_ptr<CrlProvider>> CreateStaticCrlProvider(
    const std::vector<std::string>& crls, bool deny_undetermined = false) {
  if (crls.empty()) return internal::provider_status("There are no CRLs");
  return std::make_shared<CrlProvider>(CrlProvider::sources{crls, {}, {}, deny_undetermined, {}});
}

/// A directory with files of CRLs, which are read again after each `refresh_duration`, at least 60 seconds. The callback
/// gets each error, as a status of Abseil. Each credentials object reads the directory for itself.
inline internal::provider_or_status<std::shared_ptr<CrlProvider>> CreateDirectoryReloaderCrlProvider(
    std::string_view directory, std::chrono::seconds refresh_duration,
    std::function<void(const internal::provider_status&)> reload_error_callback, bool deny_undetermined = false) {
  if (directory.empty()) return internal::provider_status("The directory of CRLs has no name");
  if (refresh_duration < std::chrono::seconds(60))
    return internal::provider_status("Refresh duration minimum is 60 seconds");
  return std::make_shared<CrlProvider>(CrlProvider::sources{
      {}, std::string(directory), refresh_duration, deny_undetermined, std::move(reload_error_callback)});
}

}  // namespace experimental
}  // namespace grpc

// As in the library of C, where grpc++ has them from.
namespace grpc_core::experimental {
using grpc::experimental::CreateDirectoryReloaderCrlProvider;
using grpc::experimental::CreateStaticCrlProvider;
using grpc::experimental::CrlProvider;
}  // namespace grpc_core::experimental
