// attributes: what registries say about a server beside its address.
#pragma once

#include "coracle/client/resolver.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace coracle::naming {

// Of one server: Consul permits as many.
inline constexpr std::size_t attributes_max = 64;
// Of the names and values of one server together.
inline constexpr std::size_t attribute_bytes_max = 4096;

// Adds what fits into the limits above; what does not fit is left out.
void add_attribute(client::endpoint& to, const std::string& name, std::string value);
// Adds the members of an object that are texts, numbers or booleans, but for "weight".
void add_attributes(client::endpoint& to, const nlohmann::json& object);
// A member that is a whole number from 0 to 4294967295.
[[nodiscard]] std::optional<std::uint32_t> weight_in(const nlohmann::json& object, const char* name);

}  // namespace coracle::naming
