// method_list: the methods that an option names.
#pragma once

#include "coracle/base/usage_error.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace coracle::rpc {

// Paths of methods, "/package.Service/Method", and of services, "/package.Service/".
class method_list {
 public:
  // Throws usage_error for another text.
  explicit method_list(std::vector<std::string> paths) : paths_(std::move(paths)) {
    for (const std::string& p : paths_)
      CORACLE_REQUIRE(p.starts_with('/') && p.find('/', 1) != p.npos && p.find('/', 1) > 1,
                      "a list of methods has paths, \"/package.Service/Method\" or \"/package.Service/\"");
  }
  [[nodiscard]] bool empty() const noexcept { return paths_.empty(); }
  [[nodiscard]] const std::vector<std::string>& paths() const noexcept { return paths_; }
  // Whether a path of the list names the method.
  [[nodiscard]] static bool matches(std::string_view path, std::string_view method) noexcept {
    return path.ends_with('/') ? method.starts_with(path) : method == path;
  }
  [[nodiscard]] bool contains(std::string_view method) const noexcept {
    return std::any_of(paths_.begin(), paths_.end(),
                       [method](std::string_view p) { return matches(p, method); });
  }

 private:
  std::vector<std::string> paths_;
};

}  // namespace coracle::rpc
