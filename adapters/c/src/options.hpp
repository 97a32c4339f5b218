// options: the options of runtimes, channels, servers and listeners as pairs of texts.
#pragma once

#include "coracle/client/channel_options.hpp"
#include "coracle/runtime/runtime_options.hpp"
#include "coracle/security/credentials.hpp"
#include "coracle/server/server_options.hpp"

#include <coracle.h>

#include <cstddef>

namespace coracle::c_abi {

struct channel_settings {
  channel_options options;
  channel_credentials credentials = insecure();
};

// They throw failure with CORACLE_INVALID_ARGUMENT, and name the option.
[[nodiscard]] runtime_options parse_runtime_options(const coracle_option* options, std::size_t count);
[[nodiscard]] channel_settings parse_channel_options(const coracle_option* options, std::size_t count);
[[nodiscard]] server_options parse_server_options(const coracle_option* options, std::size_t count);
[[nodiscard]] server_credentials parse_listener_options(const coracle_option* options, std::size_t count);
// The compression of a name, as in grpc-encoding.
[[nodiscard]] compression parse_compression(std::string_view name);

}  // namespace coracle::c_abi
