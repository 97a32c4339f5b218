// etcd_names: the keys and values of servers in etcd, and the servers that they stand for.
#pragma once

#include "coracle/base/result.hpp"
#include "naming/etcd_messages.hpp"
#include "naming/server_list.hpp"

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace coracle::naming {

// Whether a name can be the first part of a key: not empty, no '/' at its ends, and no control characters.
[[nodiscard]] bool is_etcd_name(std::string_view name) noexcept;

// The value for a server, as etcd's package for Go (clientv3/naming/endpoints) writes it.
[[nodiscard]] std::string write_etcd_value(const client::endpoint& server);

// What the keys below "NAME/" say. No I/O.
class etcd_names {
 public:
  static constexpr std::size_t keys_max = 10'000;
  // Of one request. Keys and values of the lengths below fit a message of 4 MiB.
  static constexpr std::size_t page_keys = 50;
  static constexpr std::size_t pages_max = keys_max / page_keys + 1;
  static constexpr std::size_t key_bytes_max = 1024;
  // Of which the address, the weight and the attributes are kept.
  static constexpr std::size_t value_bytes_max = 64 << 10;

  explicit etcd_names(std::string_view name) : prefix_(std::string(name) + "/") {}

  [[nodiscard]] const std::string& prefix() const noexcept { return prefix_; }
  void clear() noexcept {
    by_key_.clear();
    pages_ = 0;
  }
  // A page of a list that was cleared before, which begins with the key `from`. Returns the key of the next
  // page; empty after the last page. The status is RESOURCE_EXHAUSTED beyond keys_max or pages_max, and
  // UNAVAILABLE if etcd has sent keys that were not asked for, or says that there are more keys after none.
  [[nodiscard]] result<std::string> add_page(const etcd::range_response& page, std::string_view from);
  // The status is RESOURCE_EXHAUSTED beyond keys_max. Keys that do not begin with prefix() are ignored.
  [[nodiscard]] status put(const etcd::key_value& pair);
  void remove(const std::string& key) { by_key_.erase(key); }

  // In the order of the keys, without those whose value is of another form.
  [[nodiscard]] server_list servers() const;
  // A key whose value is of another form, and why; empty if there is none.
  [[nodiscard]] std::string invalid() const;

 private:
  // Nothing: the value says that the server was removed.
  using entry = result<std::optional<client::endpoint>>;

  const std::string prefix_;
  std::size_t pages_ = 0;
  std::map<std::string, entry> by_key_;
};

}  // namespace coracle::naming
