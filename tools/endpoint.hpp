// endpoint: which server a command talks to, and how; the options for it, which all commands share.
#pragma once

#include <coracle/client.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace coracle::tools {

// What the command line says. Open it once it has been parsed.
class endpoint {
 public:
  // What a server may send in one message unless --max-message-bytes says otherwise; also the limit of other gRPC
  // clients. A larger message ends the call with RESOURCE_EXHAUSTED.
  static constexpr std::uint32_t message_bytes_max = 4u << 20;

  enum class address_use { required, optional };
  // Adds ADDRESS and the options to a subcommand; this must outlive the parsing.
  void add_to(CLI::App& command, address_use use = address_use::required);

  // Throws usage_failure for options that do not go together, or not with the scheme of the address.
  [[nodiscard]] channel_credentials credentials() const;
  // The options of the channel: its calls have the metadata, the timeout and the compression.
  [[nodiscard]] channel_options options() const;
  // Without http:// or https://. Throws usage_failure for a URL that is more than a server's address.
  [[nodiscard]] std::string address() const;
  // As it was typed; empty where it is optional.
  [[nodiscard]] const std::string& typed_address() const noexcept { return address_; }
  [[nodiscard]] bool plaintext() const noexcept;
  [[nodiscard]] std::uint32_t max_message_bytes() const noexcept { return max_message_bytes_; }

  // --timeout; where it was not said, this.
  [[nodiscard]] duration timeout_or(duration usual) const;

  // "name: value", as --header has it. Throws usage_failure.
  static void add_header(const std::string& line, metadata& to);

  // For a call that failed with this: what the user may want to try. Empty when there is nothing to say.
  [[nodiscard]] std::string hint(const status& how) const;

 private:
  std::string address_;
  bool plaintext_ = false;
  bool no_verify_ = false;
  std::uint32_t max_message_bytes_ = message_bytes_max;
  std::string ca_, certificate_, key_, server_name_, authority_, timeout_, compression_;
  std::vector<std::string> headers_;
};

}  // namespace coracle::tools
