#include "tools/endpoint.hpp"

#include "tools/failure.hpp"
#include "tools/targets.hpp"
#include "tools/units.hpp"

#include <coracle/base/impl/base64.hpp>
#include <coracle/base/version.hpp>
#include <coracle/tls/client_options.hpp>

#include <openssl/evp.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string_view>

namespace coracle::tools {

namespace {

constexpr const char* connection_group = "Connection";
constexpr std::string_view plaintext_scheme = "http://";
constexpr std::string_view tls_scheme = "https://";

bool has_scheme(std::string_view address, std::string_view scheme) {
  return address.size() >= scheme.size() &&
         std::equal(scheme.begin(), scheme.end(), address.begin(), [](char expected, char c) {
           return expected == (c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c);
         });
}

// "localhost:50051", "[::1]:50051", "unix:/path", "https://host", "@NAME"
bool is_like_address(std::string_view text) {
  for (const std::string_view begin : {"unix:", "dns:", "ipv4:", "ipv6:", "@"})
    if (text.starts_with(begin)) return true;
  if (has_scheme(text, plaintext_scheme) || has_scheme(text, tls_scheme)) return true;
  const std::size_t colon = text.rfind(':');
  return colon != text.npos && colon + 1 < text.size() &&
         text.find_first_not_of("0123456789", colon + 1) == text.npos;
}

std::string with_variables(const std::string& text) {
  std::string expanded;
  std::size_t at = 0;
  for (std::size_t open; (open = text.find("${", at)) != text.npos;) {
    const std::size_t close = text.find('}', open);
    const std::string name = text.substr(open + 2, close == text.npos ? close : close - open - 2);
    const char* const value = close == text.npos ? nullptr : std::getenv(name.c_str());
    if (!value)
      throw usage_failure("a header names the environment variable '" + name + "', which is not set");
    expanded.append(text, at, open - at).append(value);
    at = close + 1;
  }
  return expanded.append(text, at);
}

}  // namespace

void endpoint::add_to(CLI::App& command, address_use use) {
  if (use != address_use::none) {
    command
        .add_option("ADDRESS", address_,
                    "host:port, [::1]:port, unix:/path, dns:///name:port; http://host:port is without TLS, "
                    "https://host:port with it; @NAME is a target of the configuration file")
        ->required(use == address_use::required);
    command.parse_complete_callback([this, &command] { use_target(command); });
  }
  command.add_flag("-p,--plaintext", plaintext_, "Connect without TLS")->group(connection_group);
  command.add_option("--ca", ca_, "Trust the CAs in this PEM file instead of those of the system")
      ->type_name("FILE")
      ->group(connection_group);
  command.add_option("--cert", certificate_, "The PEM file of the client certificate, for mTLS")
      ->type_name("FILE")
      ->group(connection_group);
  command.add_option("--key", key_, "The PEM file of the client certificate's key")
      ->type_name("FILE")
      ->group(connection_group);
  command.add_option("--server-name", server_name_, "The name that the server's certificate must contain")
      ->type_name("NAME")
      ->group(connection_group);
  command.add_flag("--no-verify", no_verify_, "Accept any certificate; only for tests")
      ->group(connection_group);
  command.add_option("--authority", authority_, "The :authority header of calls")
      ->type_name("NAME")
      ->group(connection_group);
  command
      .add_option("-H,--header", headers_,
                  "Send this metadata with each call; ${NAME} is an environment variable; base64 for names "
                  "that end in -bin")
      ->type_name("HEADER")
      ->group(connection_group)
      ->take_all()
      ->allow_extra_args(false);
  command.add_option("--timeout", timeout_, "The deadline of a call, such as 5s or 200ms; default: none")
      ->type_name("TIME")
      ->group(connection_group);
  command.add_option("--user-agent", user_agent_, "The beginning of the user-agent header")
      ->type_name("TEXT")
      ->group(connection_group);
  command
      .add_option(
          "--keepalive", keepalive_,
          "Send a PING if the server is silent for this long during a call, at least 10s; default: none")
      ->type_name("TIME")
      ->group(connection_group);
  command.add_option("--compress", compression_, "Compress requests")
      ->check(CLI::IsMember({"gzip", "deflate", "zstd", "br", "snappy", "lz4"}))
      ->group(connection_group);
  command
      .add_option("--max-message-bytes", max_message_bytes_,
                  "The largest message to accept from the server, after decompression, such as 64MiB")
      ->type_name("SIZE")
      ->transform(CLI::AsSizeValue(false))
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{0x7fffffff}))  // protobuf's own limit
      ->default_str("4MiB")
      ->group(connection_group);
}

void endpoint::add_protocol_to(CLI::App& command) {
  command
      .add_option(
          "--protocol", protocol_,
          "The RPC protocol; grpc-web-text is in base64, rest is JSON by the rules of google.api.http")
      ->check(CLI::IsMember({"grpc", "grpc-web", "grpc-web-text", "connect", "rest"}))
      ->capture_default_str()
      ->group(connection_group);
  command
      .add_option(
          "--http", http_,
          "The version of HTTP; default: 2 for grpc and for streams in both directions, otherwise 1.1")
      ->check(CLI::IsMember({"1.1", "2"}))
      ->group(connection_group);
}

call_protocol endpoint::protocol() const {
  if (protocol_ == "grpc-web") return call_protocol::grpc_web;
  if (protocol_ == "grpc-web-text") return call_protocol::grpc_web_text;
  if (protocol_ == "connect") return call_protocol::connect;
  return protocol_ == "rest" ? call_protocol::rest : call_protocol::grpc;
}

std::string endpoint::protocol_name() const {
  switch (protocol()) {
    case call_protocol::grpc: return "gRPC";
    case call_protocol::grpc_web: return "gRPC-Web";
    case call_protocol::grpc_web_text: return "gRPC-Web text";
    case call_protocol::connect: return "Connect";
    case call_protocol::rest: break;
  }
  return "REST";
}

coracle::http_version endpoint::http_version(bool both_ways) const {
  if (protocol() == call_protocol::grpc) {
    if (http_ == "1.1")
      throw usage_failure("gRPC requires HTTP/2: remove --http 1.1, or choose a --protocol");
    return coracle::http_version::http2;
  }
  const bool two = http_.empty() ? both_ways : http_ == "2";
  return two ? coracle::http_version::http2 : coracle::http_version::http1;
}

void endpoint::use_target(CLI::App& command) {
  if (!address_.starts_with('@')) return;
  const target found = target_named(address_.substr(1));
  address_ = found.address;
  const auto name_of = [](const std::string& line) {
    std::string name = line.substr(0, line.find(':', 1));
    std::transform(name.begin(), name.end(), name.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    return name;
  };
  std::vector<std::string> headers;
  for (const auto& [name, value] : found.headers) {
    const bool replaced = std::any_of(headers_.begin(), headers_.end(), [&](const std::string& line) {
      return name_of(line) == name_of(name);
    });
    if (!replaced) headers.push_back(name + ": " + value);
  }
  headers_.insert(headers_.begin(), headers.begin(), headers.end());
  std::vector<CLI::Option*> used;
  for (const auto& [name, value] : found.options) {
    CLI::Option* const option = command.get_option_no_throw(name);
    if (!option) continue;  // an option that this command does not need
    const bool mine = std::find(used.begin(), used.end(), option) != used.end();
    if (option->count() > 0 && !mine) continue;
    if (!mine) {
      used.push_back(option);
      target_options_.push_back("--" + option->get_lnames().front());
    }
    option->add_result(value);
  }
  for (CLI::Option* const option : used) try {
      option->run_callback();
    } catch (const CLI::Error& error) {
      throw usage_failure(configuration_path() + ": " + error.what());
    }
}

bool endpoint::is_from_target(const std::string& option) const {
  return std::find(target_options_.begin(), target_options_.end(), option) != target_options_.end();
}

void endpoint::add_header(const std::string& line, metadata& to) {
  const std::size_t colon = line.find(':', 1);
  if (colon == std::string::npos)
    throw usage_failure("a header has the form 'name: value', not '" + line + "'");
  const std::size_t begin = line.find_first_not_of(' ', colon + 1);
  add_header(line.substr(0, colon),
             begin == std::string::npos ? std::string() : with_variables(line.substr(begin)), to);
}

void endpoint::add_header(std::string key, std::string value, metadata& to) {
  for (char& c : key)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  if (std::string bytes; key.ends_with("-bin")) {
    if (!base::base64_decode(value, bytes))
      throw usage_failure("the header '" + key + ": " + value +
                          "' is invalid: the value of a -bin name must be base64");
    value = std::move(bytes);
  }
  if (!to.add(key, value))
    throw usage_failure("the header '" + key + ": " + value +
                        "' is not valid: names have letters, digits, '-', '_' and '.', "
                        "none is reserved by the protocol, and values are printable ASCII");
}

endpoint endpoint::at(std::string address) const {
  endpoint other = *this;
  other.address_ = std::move(address);
  return other;
}

bool endpoint::plaintext() const noexcept { return plaintext_ || has_scheme(address_, plaintext_scheme); }

std::string endpoint::address() const {
  std::string_view rest = address_;
  const bool http = has_scheme(rest, plaintext_scheme);
  if (!http && !has_scheme(rest, tls_scheme)) {
    const std::size_t scheme_end = rest.find("://");
    if (scheme_end != rest.npos && rest.find('/') == scheme_end + 1 && !has_scheme(rest, "dns:") &&
        !has_scheme(rest, "unix:") && !has_scheme(rest, "ipv4:") && !has_scheme(rest, "ipv6:") &&
        !has_scheme(rest, "passthrough:"))
      throw usage_failure("the address '" + address_ +
                          "' has an unknown scheme: write host:port, unix:/path, dns:///name:port, "
                          "http://host:port or https://host:port");
    return address_;
  }
  rest.remove_prefix(http ? plaintext_scheme.size() : tls_scheme.size());
  if (rest.ends_with('/')) rest.remove_suffix(1);
  if (rest.empty() || rest.find_first_of("/?#@") != rest.npos)
    throw usage_failure("the address '" + address_ +
                        "' is more than http://host:port or https://host:port: a method is named by an "
                        "argument of its own, and a user by a header");
  std::string address(rest);
  const std::size_t colon = rest.rfind(':');
  const bool has_port = colon != rest.npos && rest.find(']', colon) == rest.npos;
  if (!has_port) address += http ? ":80" : ":443";
  return address;
}

channel_credentials endpoint::credentials() const {
  const bool tls_asked =
      !ca_.empty() || !certificate_.empty() || !key_.empty() || !server_name_.empty() || no_verify_;
  if (plaintext_ && has_scheme(address_, tls_scheme))
    throw usage_failure("https:// requires TLS and --plaintext excludes it: remove one of them");
  if (plaintext() && tls_asked)
    throw usage_failure(std::string(plaintext_ ? "--plaintext" : "http://") +
                        " and the options of TLS contradict each other" +
                        (plaintext_ ? "" : ": write https://, or leave the options out"));
  if (plaintext()) return insecure();
  if (no_verify_ && (!ca_.empty() || !server_name_.empty()))
    throw usage_failure("--no-verify accepts any server: remove --ca and --server-name");
  if (certificate_.empty() != key_.empty()) throw usage_failure("--cert and --key must be used together");
  tls::client_options options;
  if (!ca_.empty()) options.cas.push_back(tls::pem_source::file(ca_));
  if (!certificate_.empty()) options.certificate = tls::key_pair::files(certificate_, key_);
  if (!server_name_.empty()) options.target_name = server_name_;
  if (no_verify_) options.verify = false;
  channel_credentials made(options);
  if (!made.failure().ok()) throw failure(std::string(made.failure().message()));
  return made;
}

channel_options endpoint::options() const {
  call_options calls;
  metadata sent;
  for (const std::string& line : headers_) add_header(line, sent);
  calls.metadata.add_all(sent);
  if (!timeout_.empty()) calls.timeout = parse_duration(timeout_, "--timeout");
  if (!compression_.empty()) {
    const auto known = encoding_named(compression_);
    if (!known || !available(*known)) throw failure("this build does not support " + compression_);
    calls.compression = *known;
  }
  calls.max_receive_bytes = max_message_bytes_;
  channel_options all;
  all.user_agent = user_agent_.empty() ? std::string("coracle-cli/") + version_text : user_agent_;
  if (!keepalive_.empty()) all.keepalive = {.time = parse_duration(keepalive_, "--keepalive")};
  all.calls = std::move(calls);
  all.retries = false;
  if (!authority_.empty()) all.authority = authority_;
  return all;
}

duration endpoint::timeout_or(duration usual) const {
  return timeout_.empty() ? usual : parse_duration(timeout_, "--timeout");
}

void endpoint::expect_before(const std::string& other) const {
  if (!is_like_address(other) || address_.empty() || is_like_address(address_)) return;
  throw usage_failure("ADDRESS comes first: '" + other + "' is an address, and '" + address_ + "' is not");
}

std::string endpoint::hint(const status& outcome) const {
  const auto says = [&](std::string_view words) {
    return outcome.message().find(words) != outcome.message().npos;
  };
  if (outcome.code() == status_code::resource_exhausted && says("max_receive_bytes exceeded") &&
      says("limit " + std::to_string(max_message_bytes_)))
    return "--max-message-bytes allows larger messages";
  if (outcome.code() != status_code::unavailable || says("the target \"") || says("cannot resolve ") ||
      says("is not valid in HTTP"))
    return {};
  // The library's message refers to functions that its users should call; users of this program have options.
  if (says("certificate is not accepted"))
    return "--ca FILE sets the CA to trust, --server-name NAME the name to expect";
  if (says("requires a client certificate")) return "--cert FILE and --key FILE set the client certificate";
  if (plaintext()) return "is a server running there, and does it require TLS (remove --plaintext)?";
  if (has_scheme(address_, tls_scheme))
    return "is a server running there, and does it use TLS (if not: http:// in the address)?";
  return "is a server running there, and does it use TLS (if not: --plaintext)?";
}

}  // namespace coracle::tools
