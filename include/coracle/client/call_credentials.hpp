// call_credentials: authenticates the caller of one call, in addition to the credentials of its connection.
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

/// The call that the credentials are for, for sources that make them for a specific receiver.
class credentials_request {
 public:
  /// `authority` and `method` as the functions of these names return them.
  credentials_request(std::string authority, std::string method) noexcept
      : authority_(std::move(authority)), method_(std::move(method)) {}
  /// Returns the authority of the server: "movies.example:443".
  [[nodiscard]] const std::string& authority() const noexcept { return authority_; }
  /// Returns the path of the method: "/package.Service/Method".
  [[nodiscard]] const std::string& method() const noexcept { return method_; }
  /// Returns the URL of the service, as a JWT names it in its audience:
  /// "https://movies.example/package.Service".
  [[nodiscard]] std::string service_url() const;

 private:
  std::string authority_;
  std::string method_;
};

/// Fetches, renews or computes credentials. Users derive from it.
///
/// It is called on the loops of its calls, by several loops concurrently. It lives as long as a call or a
/// channel refers to it.
class credentials_source {
 public:
  virtual ~credentials_source() = default;
  /// Returns the pairs to add to the call's metadata, such as "authorization".
  ///
  /// The call waits for the result within its deadline, and requests a stop when it ends. Cache tokens while
  /// they are valid. A failure ends the call with its status, but a code that only servers may send, such as
  /// NOT_FOUND, becomes INTERNAL (gRFC A54). An exception ends the call with UNAUTHENTICATED.
  virtual task<result<metadata>> metadata_for(credentials_request call) = 0;
};

/// The credentials of a call; none by default. A value type.
///
/// Credentials are sent only over TLS and within a process (server::in_process()). A call with credentials on
/// any other plaintext channel ends with UNAUTHENTICATED, and nothing is sent. A call whose own metadata has
/// a key that the credentials also add ends with UNAUTHENTICATED, too.
class call_credentials {
 public:
  /// No credentials.
  call_credentials() noexcept = default;
  /// Credentials from a source of the program, which they share. Null: none.
  template <std::derived_from<credentials_source> Source>
  call_credentials(std::shared_ptr<Source> s) noexcept  // NOLINT(google-explicit-constructor)
      : source_(std::move(s)) {}
  /// Makes credentials that send "authorization: Bearer <token>" (RFC 6750).
  [[nodiscard]] static call_credentials bearer(std::string_view token) {
    call_credentials c;
    c.authorization_ = std::make_shared<const std::string>("Bearer " + std::string(token));
    return c;
  }

  /// Returns whether there are any credentials.
  explicit operator bool() const noexcept { return authorization_ || source_; }
  /// Returns the value of the authorization header; null unless made by bearer().
  [[nodiscard]] const std::string* authorization() const noexcept { return authorization_.get(); }
  /// Returns the source; null if there is none.
  [[nodiscard]] const std::shared_ptr<credentials_source>& source() const noexcept { return source_; }
  friend bool operator==(const call_credentials&, const call_credentials&) = default;

 private:
  std::shared_ptr<const std::string> authorization_;
  std::shared_ptr<credentials_source> source_;
};

}  // namespace coracle
