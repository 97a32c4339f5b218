// target: the parsed name of what a channel connects to (grpc/grpc doc/naming.md).
#pragma once

#include "coracle/base/result.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace coracle::client {

/// A target "scheme:[//authority/]endpoint", parsed as RFC 3986 specifies. A value type.
class target {
 public:
  /// Parses `text`. If its scheme is not in `known`, the whole text, such as "example.org:50051", is the
  /// endpoint of a dns target. Decodes percent-escapes of the endpoint. Returns INVALID_ARGUMENT, with a
  /// suggested fix, if the text is empty, or names a scheme or an authority without an endpoint, or uses an
  /// unknown scheme with "//".
  static result<target> parse(std::string_view text, const std::vector<std::string_view>& known);

  [[nodiscard]] const std::string& text() const noexcept { return text_; }  ///< as passed to parse()
  [[nodiscard]] const std::string& scheme() const noexcept { return scheme_; }  ///< lower case
  [[nodiscard]] const std::string& authority() const noexcept { return authority_; }
  /// Returns the part after the scheme, or after the '/' that ends the authority: "example.org:50051",
  /// "/run/x.sock".
  [[nodiscard]] const std::string& endpoint() const noexcept { return endpoint_; }

 private:
  target() = default;
  std::string text_;
  std::string scheme_;
  std::string authority_;
  std::string endpoint_;
};

}  // namespace coracle::client
