// rest_routes: the methods that plain HTTP requests call, by their google.api.http rules.
#pragma once

#include "coracle/base/status.hpp"
#include "coracle/server/rest_options.hpp"
#include "protocol/rest/route_table.hpp"
#include "rpc/rest/rest_binding.hpp"
#include "server/router.hpp"

#include <cstdint>
#include <string_view>
#include <vector>

namespace coracle::server_internal {

// Filled before the first connection, and read by every loop afterwards.
class rest_routes {
 public:
  struct route {
    rpc::rest::rest_binding binding;
    const served_method* row;
  };

  // Replaces the routes by those of the methods in `routes`. Changes nothing if it fails.
  status build(const router& routes, const rest_options& o);
  [[nodiscard]] bool empty() const noexcept { return table_.empty(); }
  // The result borrows `path`, which has no query.
  [[nodiscard]] protocol::rest::route_match find(request_info::verb method, std::string_view path) const;
  [[nodiscard]] const route& at(std::uint32_t index) const noexcept { return routes_[index]; }
  [[nodiscard]] const protocol::rest::route_table& table() const noexcept { return table_; }
  [[nodiscard]] const rest_options& options() const noexcept { return options_; }

 private:
  protocol::rest::route_table table_;
  std::vector<route> routes_;
  rest_options options_;
};

}  // namespace coracle::server_internal
