// session: a server and the definitions of its services, which most commands start from.
#pragma once

#include "tools/endpoint.hpp"
#include "tools/schema/schema.hpp"

#include <coracle/client.hpp>
#include <coracle/runtime.hpp>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace coracle::tools {

// The options of a command line, and after the parsing the objects that they describe. Lives as long as the
// command.
class session {
 public:
  // Adds ADDRESS, the connection's options, and the options for the source of definitions.
  void add_to(CLI::App& command, endpoint::address_use use = endpoint::address_use::required);

  // Adds --protocol, --http and --http-rules, for commands that call methods.
  void add_protocol_to(CLI::App& command);
  // Adds --http-rules.
  void add_http_rules_to(CLI::App& command);

  // For commands whose ADDRESS is optional, because files may contain the definitions, and is followed by
  // names: if the word in its place is a name, inserts it at the front of `names`. Throws usage_failure if
  // neither a server nor files are given.
  void take_name_for_address(std::vector<std::string>& names);

  [[nodiscard]] endpoint& where() noexcept { return where_; }
  [[nodiscard]] const endpoint& where() const noexcept { return where_; }
  [[nodiscard]] runtime& on();
  [[nodiscard]] channel& server();
  // The channel for calls of these methods in the protocol of --protocol. That of gRPC is server().
  [[nodiscard]] channel caller(std::span<const google::protobuf::MethodDescriptor* const> methods);
  // Its options. Not for gRPC.
  [[nodiscard]] channel_options caller_options(
      std::span<const google::protobuf::MethodDescriptor* const> methods);
  // Shows the header fields of HTTP that the channels send and receive. Call it before they are used.
  void observe(std::shared_ptr<http_observer> by) { observer_ = std::move(by); }
  // The definitions from --proto and --protoset, otherwise from the server, by gRPC.
  [[nodiscard]] schema& types();
  // The content of --http-rules, a service config file; empty without it. Throws failure.
  [[nodiscard]] std::string http_rules() const;
  // The definitions from the server, read anew.
  [[nodiscard]] std::unique_ptr<definitions> reflect();
  [[nodiscard]] bool has_files() const noexcept { return !protos_.empty() || !protosets_.empty(); }
  // The values of --proto, --import, --protoset and --reflect-header as they were typed.
  [[nodiscard]] const std::vector<std::string>& protos() const noexcept { return protos_; }
  [[nodiscard]] const std::vector<std::string>& import_dirs() const noexcept { return import_dirs_; }
  [[nodiscard]] const std::vector<std::string>& protosets() const noexcept { return protosets_; }
  [[nodiscard]] const std::vector<std::string>& reflection_headers() const noexcept {
    return reflection_headers_;
  }

 private:
  [[nodiscard]] std::vector<const google::protobuf::ServiceDescriptor*> copies(
      std::span<const google::protobuf::MethodDescriptor* const> methods);

  endpoint where_;
  std::vector<std::string> protos_, import_dirs_, protosets_, reflection_headers_;
  std::string http_rules_path_;
  std::optional<runtime> runtime_;
  std::optional<channel> channel_;
  std::shared_ptr<http_observer> observer_;
  std::unique_ptr<google::protobuf::DescriptorPool> rest_types_;
  std::unique_ptr<schema> types_;
};

}  // namespace coracle::tools
