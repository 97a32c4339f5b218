// call_credentials: how a call proves who makes it, beside what its connection proves.
#pragma once

#include "coracle/base/result.hpp"
#include "coracle/coro/task.hpp"
#include "coracle/rpc/metadata.hpp"

#include <concepts>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace coracle {

// Whom the credentials go to, for sources that make them to measure.
class credentials_request {
 public:
  credentials_request(std::string authority, std::string method) noexcept
      : authority_(std::move(authority)), method_(std::move(method)) {}
  // "movies.example:443"
  [[nodiscard]] const std::string& authority() const noexcept { return authority_; }
  // "/package.Service/Method"
  [[nodiscard]] const std::string& method() const noexcept { return method_; }
  // "https://movies.example/package.Service": what a JWT names as its audience.
  [[nodiscard]] std::string service_url() const;

 private:
  std::string authority_;
  std::string method_;
};

// Credentials that are fetched, renewed or computed. Called on the loops of its calls, by several at once; lives as
// long as a call or channel refers to it.
class credentials_source {
 public:
  virtual ~credentials_source() = default;
  // What goes into the call's metadata, such as "authorization". The call waits for it, within its deadline, and
  // stops it when it ends; keep tokens while they are valid. A failure ends the call, with its status (one of
  // those that only servers give, such as NOT_FOUND, becomes INTERNAL: gRFC A54), an exception with UNAUTHENTICATED.
  virtual task<result<metadata>> metadata_for(credentials_request call) = 0;
};

// A value; default: none. They travel over TLS, and within a process (server::in_process()): a call that has some on
// another plaintext channel ends with UNAUTHENTICATED, and nothing is sent. So does one whose own metadata has a key that they bring, too.
class call_credentials {
 public:
  call_credentials() noexcept = default;
  template <std::derived_from<credentials_source> Source>
  call_credentials(std::shared_ptr<Source> s) noexcept  // NOLINT(google-explicit-constructor)
      : source_(std::move(s)) {}
  // "authorization: Bearer <token>" (RFC 6750).
  [[nodiscard]] static call_credentials bearer(std::string_view token) {
    call_credentials c;
    c.authorization_ = std::make_shared<const std::string>("Bearer " + std::string(token));
    return c;
  }

  explicit operator bool() const noexcept { return authorization_ || source_; }
  // Null unless made by bearer().
  [[nodiscard]] const std::string* authorization() const noexcept { return authorization_.get(); }
  [[nodiscard]] const std::shared_ptr<credentials_source>& source() const noexcept { return source_; }
  friend bool operator==(const call_credentials&, const call_credentials&) = default;

 private:
  std::shared_ptr<const std::string> authorization_;
  std::shared_ptr<credentials_source> source_;
};

}  // namespace coracle
