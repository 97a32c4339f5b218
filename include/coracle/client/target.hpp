// target: the name of what a channel shall reach, taken apart (grpc/grpc doc/naming.md).
#pragma once

#include "coracle/base/result.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace coracle::client {

// "scheme:[//authority/]endpoint" as RFC 3986 reads it. A value.
class target {
 public:
  // Takes `text` apart when its scheme is one of `known`; all other text, as "example.org:50051", is the
  // endpoint of a dns target. Percent-escapes of the endpoint are decoded. INVALID_ARGUMENT, with the mend,
  // for text that is empty or names an authority and nothing behind it.
  static result<target> parse(std::string_view text, const std::vector<std::string_view>& known);

  [[nodiscard]] const std::string& text() const noexcept { return text_; }  // as it was given
  [[nodiscard]] const std::string& scheme() const noexcept { return scheme_; }  // lower case
  [[nodiscard]] const std::string& authority() const noexcept { return authority_; }
  // Behind the scheme, or behind the '/' that ends the authority: "example.org:50051", "/run/x.sock".
  [[nodiscard]] const std::string& endpoint() const noexcept { return endpoint_; }

 private:
  target() = default;
  std::string text_;
  std::string scheme_;
  std::string authority_;
  std::string endpoint_;
};

}  // namespace coracle::client
