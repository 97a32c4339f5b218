// token_file: the token of a file as the credentials of calls to a control plane (jwt_token_file; gRFC A97).
#pragma once

#include "client/connecting/backoff.hpp"
#include "coracle/base/clock.hpp"
#include "coracle/client/call_credentials.hpp"

#include <chrono>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace coracle::xds {

// A token, and when it expires.
struct dated_token {
  std::string token;
  std::chrono::system_clock::time_point expires;
};

// Reads the `exp` of a JWT (RFC 7519 4.1.4), whose signature is for the server to check. UNAUTHENTICATED if
// it is not a JWT, if it has no `exp`, and if it has expired.
[[nodiscard]] result<dated_token> read_token(std::string_view text,
                                             std::chrono::system_clock::time_point now);

// Keeps the token until shortly before it expires, and reads the file again then, off the loop. UNAVAILABLE
// while the file cannot be read; after an error it is tried again after a pause that grows. Any loop may use
// it. It must outlive the tasks of metadata_for().
class token_file final : public credentials_source {
 public:
  explicit token_file(std::string path) : path_(std::move(path)) {}

  task<result<metadata>> metadata_for(credentials_request call) override;

 private:
  [[nodiscard]] task<result<std::string>> current();
  [[nodiscard]] std::optional<result<std::string>> kept();
  [[nodiscard]] task<result<dated_token>> read() const;

  const std::string path_;
  std::mutex mutex_;  // of the members below, and not held while the file is read
  dated_token token_;
  status problem_;
  time_point next_attempt_{};
  client::backoff pauses_;
};

}  // namespace coracle::xds
