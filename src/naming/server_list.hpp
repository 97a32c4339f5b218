// server_list: what a source of names has found, and whom it tells.
#pragma once

#include "coracle/base/result.hpp"
#include "coracle/client/resolver.hpp"

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace coracle::naming {

// All servers of a name at one time.
struct server_list {
  server_list() noexcept {}
  std::vector<client::endpoint> servers;
  std::string service_config;  // JSON; empty if there is none

  friend bool operator==(const server_list&, const server_list&) = default;
};
static_assert(!std::is_aggregate_v<server_list>, "GCC 12 destroys aggregates in co_await expressions twice");

// Of a document that a file or a registry holds: its bytes, and its values, which take up to 64 bytes each.
// 1,000 servers in Kubernetes take about 0.5 MB.
inline constexpr std::size_t document_bytes_max = std::size_t{4} << 20;
inline constexpr std::size_t document_values_max = 262'144;

// Whether the JSON is worth parsing: within the limits above, and nested within the limit of rpc. The status
// is INVALID_ARGUMENT or RESOURCE_EXHAUSTED.
[[nodiscard]] status check_document(std::string_view json);

// Receives what a source finds. On the loop of the source.
class list_sink {
 public:
  // There is another complete list, which replaces the one before. `make` returns it, and is called at most
  // once: when the list is used, or when follow() returns. A source whose list changes with each of many
  // events makes it seldom in this way. An empty list is a valid answer.
  virtual void changed(std::function<server_list()> make) = 0;
  // A list that is complete already.
  void found(server_list list) {
    changed([list = std::move(list)]() mutable { return std::move(list); });
  }
  // The source has no new list, for that reason.
  virtual void failed(const status& reason) = 0;

 protected:
  ~list_sink() = default;
};

// Where the servers of one name are written down. Lives on one loop.
class name_source {
 public:
  name_source(const name_source&) = delete;
  name_source& operator=(const name_source&) = delete;
  virtual ~name_source() = default;
  // Follows the name until that fails, and returns why. It is called again after a pause, and may then go on
  // with what it knows. A stop ends it with coro::cancelled. `to` must outlive the task.
  virtual task<status> follow(list_sink& to) = 0;

 protected:
  name_source() noexcept = default;
};

}  // namespace coracle::naming
