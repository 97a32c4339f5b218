// endpoint: which server a command talks to, and how; the options for it, which all commands share.
#pragma once

#include <coracle/client.hpp>

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace coracle::tools {

// What the command line says. Open it once it has been parsed.
class endpoint {
 public:
  // A larger message from a server ends the call with RESOURCE_EXHAUSTED: far beyond what anybody sends, and what a
  // machine can hold.
  static constexpr std::uint32_t reply_bytes_max = 256u << 20;

  // Adds ADDRESS and the options to a subcommand; this must outlive the parsing.
  void add_to(CLI::App& command);

  // Throws usage_failure for options that do not go together.
  [[nodiscard]] transport::channel_credentials credentials() const;
  // The options of the channel: its calls have the metadata, the timeout and the compression.
  [[nodiscard]] channel_options options() const;
  [[nodiscard]] const std::string& address() const noexcept { return address_; }
  [[nodiscard]] bool plaintext() const noexcept { return plaintext_; }

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
  std::string ca_, certificate_, key_, server_name_, authority_, timeout_, compression_;
  std::vector<std::string> headers_;
};

}  // namespace coracle::tools
