// http_url: the URL of an HTTP endpoint.
#pragma once

#include <string>
#include <string_view>

namespace coracle::tools::load {

class http_url {
 public:
  // Accepts "http://host[:port][/path][?query]", and the same with https; throws usage_failure for everything
  // else.
  explicit http_url(std::string_view text);

  [[nodiscard]] bool secure() const noexcept { return secure_; }
  // "http://host:port", as an endpoint's address.
  [[nodiscard]] const std::string& origin() const noexcept { return origin_; }
  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] const std::string& query() const noexcept { return query_; }

 private:
  std::string origin_;
  std::string path_;
  std::string query_;
  bool secure_;
};

}  // namespace coracle::tools::load
