// http_routes: what plain HTTP requests reach by their method and path: methods, by their google.api.http
// rules, and handlers of plain routes.
#pragma once

#include "coracle/base/status.hpp"
#include "coracle/server/http_route.hpp"
#include "coracle/server/rest_options.hpp"
#include "protocol/rest/route_table.hpp"
#include "rest/rest_binding.hpp"
#include "server/router.hpp"

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::server_internal {

// "GET" and so on; "(other)" for a method that no route can have.
[[nodiscard]] std::string_view name_of(request_info::verb v) noexcept;

// Filled before the first connection, and read by every loop afterwards.
class http_routes {
 public:
  struct rest_route {
    rest::rest_binding binding;
    const served_method* row;
  };
  struct plain_route {
    http_route definition;
    protocol::rest::path_template path;
    // Names the route in the log.
    [[nodiscard]] std::string name() const { return definition.method + " " + definition.path; }
  };

  // Replaces the routes of methods by those of the methods in `routes`. Changes nothing if it fails.
  status build_rest(const router& routes, const rest_options& o);
  // Throws usage_error, and adds nothing, if the route is invalid, or if it matches the requests of another
  // route or of a method in `routes`.
  void add(http_route r, const router& routes);
  // Throws usage_error if a method of the service has the path of a plain route.
  void check(service& s) const;

  [[nodiscard]] bool empty() const noexcept { return table_.empty(); }
  // The result borrows `path`, which has no query. HEAD finds the routes of GET.
  [[nodiscard]] protocol::rest::route_match find(request_info::verb method, std::string_view path) const;
  // For a match whose outcome is method_not_allowed: whether its only route is a plain one of GET whose path
  // ends with `**`, such as that of files, which is not written for this path in particular.
  [[nodiscard]] bool serves_many_paths(std::string_view path, const protocol::rest::route_match& m) const;
  // Of the index of a match; null if the route is of the other kind.
  [[nodiscard]] const rest_route* rest_at(std::uint32_t index) const noexcept {
    return is_plain(index) ? nullptr : &rest_[index];
  }
  [[nodiscard]] const plain_route* plain_at(std::uint32_t index) const noexcept {
    return is_plain(index) ? &plain_[index & ~plain_bit] : nullptr;
  }
  // The value of Allow for a match whose outcome is method_not_allowed.
  [[nodiscard]] std::string allow(const protocol::rest::route_match& m) const;
  // Whether a method has a route.
  [[nodiscard]] bool has_rest() const noexcept { return !rest_.empty(); }
  [[nodiscard]] const rest_options& options() const noexcept { return options_; }

 private:
  // Marks the indexes of plain routes.
  static constexpr std::uint32_t plain_bit = std::uint32_t{1} << 31;
  static constexpr bool is_plain(std::uint32_t index) noexcept { return (index & plain_bit) != 0; }

  protocol::rest::route_table table_;
  std::vector<rest_route> rest_;
  std::deque<plain_route> plain_;  // calls refer to them
  rest_options options_;
};

}  // namespace coracle::server_internal
