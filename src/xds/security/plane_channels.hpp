// plane_channels: channels to control planes, with the credentials that the bootstrap names.
#pragma once

#include "coracle/client/call_credentials.hpp"
#include "coracle/client/channel_handle.hpp"
#include "coracle/xds/xds.hpp"
#include "xds/bootstrap/bootstrap.hpp"

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace coracle {
class runtime;
}

namespace coracle::xds {

// Lives on one loop. Tokens that were read stay for the next channel.
class plane_channels {
 public:
  plane_channels(runtime& of, xds_options options) : of_(of), options_(std::move(options)) {}

  [[nodiscard]] channel to(const management_server& plane);

 private:
  [[nodiscard]] call_credentials tokens_of(const std::vector<std::string>& files);

  runtime& of_;
  const xds_options options_;
  std::map<std::vector<std::string>, call_credentials> tokens_;
};

}  // namespace coracle::xds
