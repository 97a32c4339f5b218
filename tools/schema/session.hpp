// session: a server and what is known of its services; what most commands start from.
#pragma once

#include "tools/endpoint.hpp"
#include "tools/schema/schema.hpp"

#include <coracle/client.hpp>
#include <coracle/runtime.hpp>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace coracle::tools {

// The options, and after the parsing all that comes of them. Lives as long as the command.
class session {
 public:
  // ADDRESS, the connection's options, and where definitions come from.
  void add_to(CLI::App& command, endpoint::address_use use = endpoint::address_use::required);

  // For commands whose ADDRESS is optional, since files may have the definitions, and is followed by names: puts what stands
  // in its place in front of `names` where it is a name. Throws usage_failure where neither a server nor files are given.
  void take_name_for_address(std::vector<std::string>& names);

  [[nodiscard]] endpoint& where() noexcept { return where_; }
  [[nodiscard]] runtime& on();
  [[nodiscard]] channel& server();
  // From --proto and --protoset, else from the server.
  [[nodiscard]] schema& types();
  [[nodiscard]] bool has_files() const noexcept { return !protos_.empty() || !protosets_.empty(); }

 private:
  endpoint where_;
  std::vector<std::string> protos_, import_dirs_, protosets_;
  std::optional<runtime> runtime_;
  std::optional<channel> channel_;
  std::unique_ptr<schema> types_;
};

}  // namespace coracle::tools
