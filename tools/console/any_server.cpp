#include "tools/console/any_server.hpp"

#include "tools/failure.hpp"
#include "tools/schema/from_files.hpp"
#include "tools/schema/reflected.hpp"

#include <coracle/base/impl/base64.hpp>
#include <coracle/runtime/offload.hpp>
#include <coracle/tls/client_options.hpp>

#include <openssl/crypto.h>
#include <openssl/rand.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>
#include <vector>

namespace coracle::tools {

namespace {

using nlohmann::ordered_json;

std::string random_token() {
  std::array<unsigned char, 16> bits{};
  if (RAND_bytes(bits.data(), static_cast<int>(bits.size())) != 1)
    throw failure("OpenSSL has no random numbers for the token");
  static constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (const unsigned char one : bits) text.append({digits[one >> 4], digits[one & 15]});
  return text;
}

ordered_json object_in(const std::string& text) {
  ordered_json value = ordered_json::parse(text, nullptr, false);
  if (!value.is_object()) throw failure("the page sent something else than an object of JSON");
  return value;
}

std::string text_in(const ordered_json& of, const char* name) {
  const auto found = of.find(name);
  if (found == of.end() || found->is_null()) return {};
  if (!found->is_string()) throw failure(std::string(name) + " must be a string");
  return found->get<std::string>();
}

// The lines "name: value" of a member. A line of the command line may name variables of the environment,
// which is not for pages to read.
metadata metadata_in(const ordered_json& settings, const char* member,
                     const std::vector<std::string>& given) {
  metadata sent;
  for (const ordered_json& line : settings.value(member, ordered_json::array())) {
    if (!line.is_string()) throw failure(std::string(member) + " must be an array of strings");
    const auto text = line.get<std::string>();
    const std::size_t colon = text.find(':', 1);
    if (std::find(given.begin(), given.end(), text) != given.end() || colon == text.npos) {
      endpoint::add_header(text, sent);
      continue;
    }
    const std::size_t begin = text.find_first_not_of(' ', colon + 1);
    endpoint::add_header(text.substr(0, colon), begin == text.npos ? std::string() : text.substr(begin),
                         sent);
  }
  return sent;
}

bool bool_in(const ordered_json& of, const char* name) {
  const auto found = of.find(name);
  return found != of.end() && found->is_boolean() && found->get<bool>();
}

// Options that no part of the page sets: as words of a command line.
ordered_json other_options(const endpoint& of) {
  ordered_json words = ordered_json::array();
  const auto add = [&](const char* name, const std::string& value) {
    if (value.empty()) return;
    words.push_back(name);
    words.push_back(value);
  };
  add("--authority", of.authority());
  add("--user-agent", of.user_agent());
  add("--keepalive", of.keepalive());
  if (of.max_message_bytes() != endpoint::message_bytes_max)
    add("--max-message-bytes", std::to_string(of.max_message_bytes()));
  return words;
}

// The services of `types` with everything that defines them.
std::shared_ptr<console::called_server> described(channel server, schema& types) {
  google::protobuf::FileDescriptorSet files;
  for (const google::protobuf::FileDescriptor* const file : types.files()) {
    google::protobuf::FileDescriptorProto& to = *files.add_file();
    file->CopyTo(&to);
    file->CopyJsonNameTo(&to);
    file->CopySourceCodeInfoTo(&to);
  }
  return std::make_shared<console::called_server>(std::move(server), std::move(files), types.services());
}

}  // namespace

any_server::any_server(session& given) : given_(given), token_(random_token()) {}

status any_server::authorize(const http_request& request, bool of_api) {
  // The files of the page are the same for everybody, and a browser loads them without the token.
  if (!of_api) return {};
  const std::string_view sent = request.header("coracle-console-token").value_or("");
  if (sent.size() == token_.size() && CRYPTO_memcmp(sent.data(), token_.data(), sent.size()) == 0) return {};
  return status::permission_denied(
      "the page has no token, or one of another run: open the address that the console has printed");
}

std::string any_server::about() {
  const ordered_json all{{"own", false}, {"certificates", certificates()}, {"given", given()}};
  return all.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

ordered_json any_server::given() const {
  const endpoint& where = given_.where();
  const std::chrono::duration<double, std::milli> timeout = where.timeout_or(duration::zero());
  return {{"address", where.typed_address().empty() ? std::string() : where.address()},
          {"security", where.plaintext()  ? "plaintext"
                       : where.verifies() ? "tls"
                                          : "unverified"},
          {"ca", where.ca()},
          {"certificate", where.certificate()},
          {"key", where.key()},
          {"serverName", where.server_name()},
          {"headers", where.headers()},
          {"timeoutMs", timeout.count() > 0 ? ordered_json(timeout.count()) : ordered_json()},
          {"compression", where.compression()},
          {"other", other_options(where)},
          {"protos", given_.protos()},
          {"importDirs", given_.import_dirs()},
          {"descriptorSets", given_.protosets()},
          {"reflectHeaders", given_.reflection_headers()}};
}

task<result<std::shared_ptr<console::called_server>>> any_server::connect(std::string settings,
                                                                          http_request) {
  // Reflection and files block.
  status wrong;
  std::shared_ptr<console::called_server> made;
  co_await offload([&] {
    try {
      made = open(settings);
    } catch (const call_failure& error) {
      wrong = status::unavailable(error.what());
    } catch (const failure& error) {
      wrong = status::invalid_argument(error.what());
    }
  });
  if (!wrong.ok()) co_return wrong;
  co_return made;
}

std::shared_ptr<console::called_server> any_server::open(const std::string& text) {
  const ordered_json settings = object_in(text);
  const endpoint where = given_.where().at(text_in(settings, "address"));
  if (where.typed_address().empty()) throw failure("the address of the server is missing");
  channel_options options = where.options();
  // What the page shows is what a call has: it sets these in each call.
  options.calls.timeout.reset();
  options.calls.compression.reset();
  options.calls.metadata.clear();
  options.calls.metadata.add_all(metadata_in(settings, "headers", where.headers()));
  channel server(given_.on(), where.address(), credentials(settings), options);
  const std::string source = text_in(settings, "definitions");
  if (source == "given" && given_.has_files()) return described(std::move(server), given_.types());
  if (source == "files") {
    schema types(uploaded(settings));
    return described(std::move(server), types);
  }
  // Asked anew, so that a page that is loaded again sees what the server has now.
  schema types(
      reflected(server, where, metadata_in(settings, "reflectHeaders", given_.reflection_headers())));
  return described(std::move(server), types);
}

channel_credentials any_server::credentials(const ordered_json& settings) {
  const std::string security = text_in(settings, "security");
  if (security == "plaintext") return insecure();
  tls::client_options options;
  if (bool_in(settings, "givenCa")) options.cas.push_back(tls::pem_source::file(given_.where().ca()));
  else if (const std::string ca = text_in(settings, "ca"); !ca.empty())
    options.cas.push_back(tls::pem_source::text(find(ca).chain));
  if (bool_in(settings, "givenCertificate")) {
    options.certificate = tls::key_pair::files(given_.where().certificate(), given_.where().key());
  } else if (const std::string name = text_in(settings, "certificate"); !name.empty()) {
    const certificate own = find(name);
    if (own.key.empty()) throw failure("the certificate " + name + " has no private key");
    options.certificate = tls::key_pair::pem(own.chain, own.key);
  }
  options.target_name = text_in(settings, "serverName");
  options.verify = security != "unverified";
  channel_credentials made(options);
  if (!made.failure().ok()) throw failure(std::string(made.failure().message()));
  return made;
}

std::unique_ptr<definitions> any_server::uploaded(const ordered_json& settings) {
  std::map<std::string, std::string> protos;
  std::vector<std::string> sets;
  for (const ordered_json& file : settings.value("protos", ordered_json::array())) {
    if (!file.is_array() || file.size() != 2 || !file[0].is_string() || !file[1].is_string())
      throw failure("protos must be an array of pairs: the name and the text of a file");
    protos[file[0].get<std::string>()] = file[1].get<std::string>();
  }
  for (const ordered_json& set : settings.value("descriptorSets", ordered_json::array())) {
    std::string bytes;
    if (!set.is_string() || !base::base64_decode(set.get<std::string>(), bytes))
      throw failure("descriptorSets must be an array of base64");
    sets.push_back(std::move(bytes));
  }
  if (protos.empty() && sets.empty()) throw failure("there are no files with definitions");
  return from_texts(std::move(protos), sets);
}

any_server::certificate any_server::find(const std::string& name) {
  const std::lock_guard lock(mutex_);
  const auto found = certificates_.find(name);
  if (found == certificates_.end())
    throw failure("there is no certificate " + name +
                  ": the console forgets them when it ends; add it again");
  return found->second;
}

ordered_json any_server::certificates() {
  const std::lock_guard lock(mutex_);
  ordered_json names = ordered_json::array();
  for (const auto& [name, one] : certificates_)
    names.push_back(
        {{"name", name}, {"hasKey", !one.key.empty()}, {"file", one.chain_file}, {"keyFile", one.key_file}});
  return names;
}

void any_server::add_certificate(const std::string& body) {
  const ordered_json request = object_in(body);
  certificate added{text_in(request, "certificate"), text_in(request, "key"), text_in(request, "file"),
                    text_in(request, "keyFile")};
  const std::string name = text_in(request, "name");
  if (name.empty()) throw failure("a certificate needs a name");
  if (added.chain.find("-----BEGIN CERTIFICATE-----") == std::string::npos)
    throw failure("the certificate is no PEM file: it has no line -----BEGIN CERTIFICATE-----");
  if (!added.key.empty() && added.key.find("PRIVATE KEY-----") == std::string::npos)
    throw failure("the key is no PEM file: it has no line -----BEGIN PRIVATE KEY-----");
  const std::lock_guard lock(mutex_);
  if (certificates_.size() >= certificates_max && certificates_.count(name) == 0)
    throw failure("there are " + std::to_string(certificates_max) + " certificates: remove one first");
  certificates_[name] = std::move(added);
}

task<result<std::string>> any_server::perform(std::string name, std::string body) try {
  if (name == "add-certificate") {
    add_certificate(body);
  } else if (name == "remove-certificate") {
    const std::string removed = text_in(object_in(body), "name");
    const std::lock_guard lock(mutex_);
    certificates_.erase(removed);
  } else if (name == "remove-certificates") {
    const std::lock_guard lock(mutex_);
    certificates_.clear();
  } else {
    co_return co_await console_host::perform(std::move(name), std::move(body));
  }
  co_return ordered_json{{"certificates", certificates()}}.dump(-1, ' ', false,
                                                                ordered_json::error_handler_t::replace);
} catch (const failure& error) {
  co_return status::invalid_argument(error.what());
}

}  // namespace coracle::tools
