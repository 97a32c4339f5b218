#include "tools/option_names.hpp"

#include <cstddef>

namespace coracle::tools {

namespace {

struct advice {
  std::string_view to_programs, to_users;
};

constexpr advice advices[] = {
    {" (see call_options and server_options)", ""},
    {"set its CA with client_options::cas", "set its CA with --ca FILE"},
    {"set one with client_options::certificate", "set one with --cert FILE and --key FILE"},
    {"set key_pair::passphrase(), or ", "the program does not support passphrases: "},
    {", or register a resolver for it (channel_options::add_resolver())", ", unix:/path or host:port"},
    {"coracle::tls::client_options() instead of insecure()", "TLS, without --plaintext"},
};

}  // namespace

std::string with_option_names(std::string_view message) {
  std::string text(message);
  for (const advice& one : advices)
    for (std::size_t at = text.find(one.to_programs); at != text.npos; at = text.find(one.to_programs, at))
      text.replace(at, one.to_programs.size(), one.to_users);
  return text;
}

}  // namespace coracle::tools
