// consul_service: the answers of Consul's health endpoint about one service.
#pragma once

#include "coracle/base/result.hpp"
#include "naming/server_list.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::naming {

// "movies?tag=grpc&dc=west"
struct consul_query {
  std::string service;
  std::vector<std::string> tags;
  std::string datacenter;
};
// The status is INVALID_ARGUMENT and says what is wrong.
[[nodiscard]] result<consul_query> parse_consul_query(std::string_view endpoint);

// The instances that pass and have all tags. The status is INVALID_ARGUMENT if it is no such answer.
[[nodiscard]] result<server_list> read_consul_answer(std::string_view json,
                                                     const std::vector<std::string>& tags);

// The index with which the next blocking query begins, by Consul's rules: 0, which does not block, if the
// index has gone back or is 0. The status is UNAVAILABLE if `header` is no number.
[[nodiscard]] result<std::uint64_t> next_consul_index(std::uint64_t before, std::string_view header);

// The body that registers an instance whose check must be passed within `ttl_seconds`.
[[nodiscard]] std::string write_consul_instance(const std::string& id, const std::string& name,
                                                const client::endpoint& server,
                                                const std::vector<std::string>& tags, long ttl_seconds);

}  // namespace coracle::naming
