// endpoint: the server that a command talks to, and the connection options that all commands share.
#pragma once

#include <coracle/client.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace coracle::tools {

// The address and the connection options of a command line, or of a target in the configuration file. Use it
// after the parsing.
class endpoint {
 public:
  // The maximum size of a message from the server, unless --max-message-bytes sets another; other gRPC
  // clients have the same limit. A larger message ends the call with RESOURCE_EXHAUSTED.
  static constexpr std::uint32_t message_bytes_max = 4u << 20;

  enum class address_use { required, optional, none };
  // Adds ADDRESS and the options to a subcommand; this object must outlive the parsing. If the address is
  // @NAME, the options of that target (targets.hpp) are used where the command line has none, also those that
  // the command adds itself.
  void add_to(CLI::App& command, address_use use = address_use::required);

  // Adds --protocol and --http; the commands without them speak gRPC.
  void add_protocol_to(CLI::App& command);

  // Uses the target that the address names, if it is @NAME; add_to() has this done after the parsing.
  void use_target(CLI::App& command);

  // Whether the value of the option ("--timeout") comes from the target, not from the command line.
  [[nodiscard]] bool is_from_target(const std::string& option) const;

  // The same options with another address, for a command with several servers.
  [[nodiscard]] endpoint at(std::string address) const;

  // Throws usage_failure for options that contradict each other or the scheme of the address.
  [[nodiscard]] channel_credentials credentials() const;
  // The options of the channel: they set the metadata, the timeout and the compression of its calls.
  [[nodiscard]] channel_options options() const;
  [[nodiscard]] call_protocol protocol() const;
  // The name of the protocol for people: "gRPC", "gRPC-Web", "gRPC-Web text", "Connect", "REST".
  [[nodiscard]] std::string protocol_name() const;
  // The version of --http. By default HTTP/2 for gRPC, and for calls whose messages go both ways at once;
  // otherwise HTTP/1.1, which every server of the other protocols speaks. Throws usage_failure for gRPC over
  // HTTP/1.1.
  [[nodiscard]] coracle::http_version http_version(bool both_ways) const;
  // The address without http:// or https://. Throws usage_failure for a URL with more than a server's
  // address.
  [[nodiscard]] std::string address() const;
  // The address as it was typed; empty if it is optional and missing.
  [[nodiscard]] const std::string& typed_address() const noexcept { return address_; }
  [[nodiscard]] bool plaintext() const noexcept;
  [[nodiscard]] bool verifies() const noexcept { return !no_verify_; }
  // The files and the name of the options of TLS; empty if there are none.
  [[nodiscard]] const std::string& ca() const noexcept { return ca_; }
  [[nodiscard]] const std::string& certificate() const noexcept { return certificate_; }
  [[nodiscard]] const std::string& key() const noexcept { return key_; }
  [[nodiscard]] const std::string& server_name() const noexcept { return server_name_; }
  [[nodiscard]] std::uint32_t max_message_bytes() const noexcept { return max_message_bytes_; }
  // The values of --header, --compress, --authority, --user-agent and --keepalive as they were typed.
  [[nodiscard]] const std::vector<std::string>& headers() const noexcept { return headers_; }
  [[nodiscard]] const std::string& compression() const noexcept { return compression_; }
  [[nodiscard]] const std::string& authority() const noexcept { return authority_; }
  [[nodiscard]] const std::string& user_agent() const noexcept { return user_agent_; }
  [[nodiscard]] const std::string& keepalive() const noexcept { return keepalive_; }

  // The value of --timeout, or `usual` if it is not set.
  [[nodiscard]] duration timeout_or(duration usual) const;

  // Adds a header in the form "name: value" of --header; ${NAME} in the value stands for an environment
  // variable. Throws usage_failure.
  static void add_header(const std::string& line, metadata& to);
  // The same for a name in any case and a value that is used as it is.
  static void add_header(std::string key, std::string value, metadata& to);

  // Throws usage_failure if `other`, the argument after the address, is an address, and the address is none.
  void expect_before(const std::string& other) const;

  // What the user may try after a call failed with this status; empty if there is no hint.
  [[nodiscard]] std::string hint(const status& outcome) const;

 private:
  std::string address_;
  bool plaintext_ = false;
  bool no_verify_ = false;
  std::uint32_t max_message_bytes_ = message_bytes_max;
  std::string ca_, certificate_, key_, server_name_, authority_, timeout_, compression_, user_agent_,
      keepalive_, protocol_ = "grpc", http_;
  std::vector<std::string> headers_, target_options_;
};

}  // namespace coracle::tools
