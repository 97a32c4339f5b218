// token_file: the token of a file as the credentials of calls to a control plane (jwt_token_file; gRFC A97).
#pragma once

#include "client/connecting/backoff.hpp"
#include "coracle/client/call_credentials.hpp"

#include <chrono>
#include <mutex>
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

// Keeps the token until shortly before it expires, and reads the file again then. UNAVAILABLE while the file
// cannot be read; after an error it is tried again after a pause that grows. Any loop may use it.
class token_file final : public credentials_source {
 public:
  explicit token_file(std::string path) : path_(std::move(path)) {}

  task<result<metadata>> metadata_for(credentials_request call) override;

 private:
  [[nodiscard]] result<std::string> current();
  [[nodiscard]] result<dated_token> read(std::chrono::system_clock::time_point now) const;

  const std::string path_;
  std::mutex mutex_;
  dated_token token_;
  status problem_;
  std::chrono::system_clock::time_point next_attempt_{};
  client::backoff pauses_;
};

}  // namespace coracle::xds
