#include "tools/endpoint.hpp"

#include "tools/base64.hpp"
#include "tools/failure.hpp"
#include "tools/units.hpp"

#include <coracle/base/version.hpp>
#include <coracle/tls/client_options.hpp>

#include <openssl/evp.h>
#include <CLI/CLI.hpp>

#include <cstdint>
#include <utility>

namespace coracle::tools {

namespace {

constexpr const char* group = "Connection";

}  // namespace

void endpoint::add_to(CLI::App& command) {
  command.add_option("ADDRESS", address_, "host:port, [::1]:port, unix:/path, dns:///name:port")->required();
  command.add_flag("-p,--plaintext", plaintext_, "no TLS")->group(group);
  command.add_option("--ca", ca_, "PEM file of the CAs that are trusted, in place of the system's")
      ->group(group);
  command.add_option("--cert", certificate_, "PEM file of our own certificate (mTLS)")->group(group);
  command.add_option("--key", key_, "PEM file of its key")->group(group);
  command.add_option("--server-name", server_name_, "who the server has to prove to be")->group(group);
  command.add_flag("--no-verify", no_verify_, "believe whoever answers")->group(group);
  command.add_option("--authority", authority_, "the :authority of calls")->group(group);
  command.add_option("-H,--header", headers_, "'name: value' with each call; of names in -bin, base64")
      ->group(group)
      ->take_all()
      ->allow_extra_args(false);
  command.add_option("--timeout", timeout_, "the deadline of a call: 5s, 200ms")->group(group);
  command.add_option("--compress", compression_, "how requests are compressed")
      ->check(CLI::IsMember({"gzip", "deflate", "zstd", "br", "snappy", "lz4"}))
      ->group(group);
}

void endpoint::add_header(const std::string& line, metadata& to) {
  const std::size_t colon = line.find(':', 1);
  if (colon == std::string::npos)
    throw usage_failure("a header is written 'name: value', not '" + line + "'");
  std::string key = line.substr(0, colon);
  for (char& c : key)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  const std::size_t begin = line.find_first_not_of(' ', colon + 1);
  std::string value = begin == std::string::npos ? std::string() : line.substr(begin);
  if (key.ends_with("-bin")) value = from_base64(std::move(value));
  if (!to.add(key, value))
    throw usage_failure("the header '" + line +
                        "' breaks gRPC's rules: names have letters, digits, '-', '_' and '.', "
                        "none of them the protocol's own, and values are printable ASCII");
}

transport::channel_credentials endpoint::credentials() const {
  const bool tls_asked =
      !ca_.empty() || !certificate_.empty() || !key_.empty() || !server_name_.empty() || no_verify_;
  if (plaintext_ && tls_asked) throw usage_failure("--plaintext and options of TLS contradict each other");
  if (plaintext_) return insecure();
  if (no_verify_ && (!ca_.empty() || !server_name_.empty()))
    throw usage_failure("--no-verify believes whoever answers: --ca and --server-name contradict it");
  if (certificate_.empty() != key_.empty()) throw usage_failure("--cert and --key go together");
  tls::client_options options;
  if (!ca_.empty()) options.ca_file(ca_);
  if (!certificate_.empty()) options.certificate_files(certificate_, key_);
  if (!server_name_.empty()) options.target_name(server_name_);
  if (no_verify_) options.without_verification();
  transport::channel_credentials made(options);
  if (!made.failure().ok()) throw failure(std::string(made.failure().message()));
  return made;
}

channel_options endpoint::options() const {
  call_options calls;
  metadata sent;
  for (const std::string& line : headers_) add_header(line, sent);
  calls.metadata(sent);
  if (!timeout_.empty()) calls.timeout(parse_duration(timeout_, "--timeout"));
  if (!compression_.empty()) {
    const auto known = encoding_named(compression_);
    if (!known || !available(*known)) throw failure("this build has no " + compression_);
    calls.compression(*known);
  }
  calls.max_receive_bytes(reply_bytes_max);
  channel_options all;
  all.user_agent(std::string("coracle-cli/") + version_text).calls(std::move(calls)).retries(false);
  if (!authority_.empty()) all.authority(authority_);
  return all;
}

duration endpoint::timeout_or(duration usual) const {
  return timeout_.empty() ? usual : parse_duration(timeout_, "--timeout");
}

std::string endpoint::hint(const status& how) const {
  const auto says = [&](std::string_view words) { return how.message().find(words) != how.message().npos; };
  if (how.code() != status_code::unavailable || says("the target \"")) return {};
  // The library tells its users what to call; ours have options.
  if (says("certificate is not accepted"))
    return "--ca FILE says whom to trust, --server-name NAME whom to expect there";
  if (says("requires a client certificate")) return "--cert FILE and --key FILE are yours";
  if (plaintext_) return "is there a server, and does it want TLS (leave --plaintext away)?";
  return "is there a server, and does it speak TLS (else: --plaintext)?";
}

}  // namespace coracle::tools
