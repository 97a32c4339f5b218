#include "tools/targets.hpp"

#include "tools/diagnostics.hpp"
#include "tools/failure.hpp"
#include "tools/files/file_content.hpp"
#include "tools/manual/closest_words.hpp"
#include "tools/terminal_text.hpp"

#include <nlohmann/json.hpp>

#include <sys/stat.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>

namespace coracle::tools {

namespace {

using json = nlohmann::ordered_json;

constexpr std::size_t secret_bytes_max = 64u << 10;

// How the value of a key becomes options.
enum class kind { text, number, flag, path, paths };
struct key {
  const char* name;
  const char* option;
  kind value;
};

constexpr key keys[] = {
    {"plaintext", "--plaintext", kind::flag},
    {"authority", "--authority", kind::text},
    {"timeout", "--timeout", kind::text},
    {"connect_timeout", "--connect-timeout", kind::text},
    {"user_agent", "--user-agent", kind::text},
    {"keepalive", "--keepalive", kind::text},
    {"compress", "--compress", kind::text},
    {"max_message_bytes", "--max-message-bytes", kind::number},
    {"proto", "--proto", kind::paths},
    {"import", "--import", kind::paths},
    {"protoset", "--protoset", kind::paths},
    {"protocol", "--protocol", kind::text},
    {"http", "--http", kind::text},
    {"http_rules", "--http-rules", kind::path},
};
constexpr key tls_keys[] = {
    {"ca", "--ca", kind::path},
    {"cert", "--cert", kind::path},
    {"key", "--key", kind::path},
    {"server_name", "--server-name", kind::text},
    {"no_verify", "--no-verify", kind::flag},
};

class configuration {
 public:
  configuration() : path_(configuration_path()) {}

  [[nodiscard]] json targets() const {
    std::error_code unknown;
    if (!std::filesystem::exists(path_, unknown))
      throw usage_failure("there is no configuration file " + path_ +
                          "; it looks like {\"targets\": {\"NAME\": {\"address\": \"localhost:50051\", "
                          "\"plaintext\": true}}}");
    const json all = json::parse(file_content(path_), nullptr, false, true);
    if (all.is_discarded()) fail("is not valid JSON");
    check_keys(all, "", {"targets"});
    return all.contains("targets") ? object(all["targets"], "targets") : json::object();
  }

  [[nodiscard]] target read(const std::string& name) {
    const json all = targets();
    if (!all.contains(name)) {
      std::vector<std::string> names;
      for (const auto& [known, value] : all.items()) names.push_back(known);
      throw usage_failure(path_ + " has no target '" + name + "'" + suggestion(closest_words(name, names)));
    }
    const json& one = object(all[name], "targets." + name);
    where_ = "targets." + name;
    std::vector<std::string> known{"address", "tls", "headers", "reflect_headers"};
    for (const key& k : keys) known.emplace_back(k.name);
    check_keys(one, where_, known);
    target made;
    if (!one.contains("address")) fail(where_ + " has no address");
    made.address = text(one["address"], where_ + ".address");
    for (const key& k : keys) add(one, k, where_, made);
    if (one.contains("tls")) add_tls(object(one["tls"], where_ + ".tls"), made);
    if (one.contains("headers"))
      for (const auto& [header, value] : object(one["headers"], where_ + ".headers").items())
        made.headers.emplace_back(header, header_value(value, where_ + ".headers." + header));
    if (one.contains("reflect_headers"))
      for (const auto& [header, value] : object(one["reflect_headers"], where_ + ".reflect_headers").items())
        made.options.emplace_back("--reflect-header",
                                  header + ": " + text(value, where_ + ".reflect_headers." + header));
    if (has_literal_secret_) warn_if_public();
    return made;
  }

 private:
  [[noreturn]] void fail(const std::string& text) const { throw usage_failure(path_ + ": " + text); }

  const json& object(const json& value, const std::string& where) const {
    if (!value.is_object()) fail(where + " must be an object");
    return value;
  }
  std::string text(const json& value, const std::string& where) const {
    if (!value.is_string()) fail(where + " must be a string");
    return value.get<std::string>();
  }

  void check_keys(const json& of, const std::string& where, const std::vector<std::string>& known) const {
    if (!of.is_object()) fail("must be an object with the key \"targets\"");
    for (const auto& [name, value] : of.items())
      if (std::find(known.begin(), known.end(), name) == known.end())
        fail((where.empty() ? std::string("it") : where) + " has an unknown key '" + name + "'" +
             suggestion(closest_words(name, known)));
  }

  [[nodiscard]] std::string from_here(const std::string& file) const {
    return (std::filesystem::path(path_).parent_path() / file).string();
  }

  void add_tls(const json& tls, target& to) const {
    std::vector<std::string> known;
    for (const key& k : tls_keys) known.emplace_back(k.name);
    check_keys(tls, where_ + ".tls", known);
    for (const key& k : tls_keys) add(tls, k, where_ + ".tls", to);
  }

  void add(const json& from, const key& k, const std::string& where, target& to) const {
    if (!from.contains(k.name)) return;
    const json& value = from[k.name];
    const std::string here = where + "." + k.name;
    switch (k.value) {
      case kind::flag:
        if (!value.is_boolean()) fail(here + " must be true or false");
        if (value.get<bool>()) to.options.emplace_back(k.option, "true");
        return;
      case kind::number:
        if (!value.is_number_unsigned()) return to.options.emplace_back(k.option, text(value, here)), void();
        return to.options.emplace_back(k.option, std::to_string(value.get<std::uint64_t>())), void();
      case kind::text: return to.options.emplace_back(k.option, text(value, here)), void();
      case kind::path: return to.options.emplace_back(k.option, from_here(text(value, here))), void();
      case kind::paths: break;
    }
    if (!value.is_array()) fail(here + " must be an array of paths");
    for (const json& one : value) to.options.emplace_back(k.option, from_here(text(one, here)));
  }

  // A string, in which ${NAME} stands for an environment variable, {"file": PATH} or {"command": TEXT}.
  std::string header_value(const json& value, const std::string& where) {
    if (value.is_string()) {
      const std::string literal = value.get<std::string>();
      has_literal_secret_ = has_literal_secret_ || literal.find("${") == literal.npos;
      return literal;
    }
    if (!value.is_object() || value.size() != 1 || !(value.contains("file") || value.contains("command")))
      fail(where + " must be a string, {\"file\": PATH} or {\"command\": TEXT}");
    std::string secret = value.contains("file") ? file_content(from_here(text(value["file"], where)))
                                                : output_of(text(value["command"], where), where);
    while (secret.ends_with('\n') || secret.ends_with('\r')) secret.pop_back();
    // The value is not expanded again.
    for (std::size_t at = 0; (at = secret.find("${", at)) != secret.npos; at += 2)
      fail(where + ": the value contains '${'");
    return secret;
  }

  std::string output_of(const std::string& command, const std::string& where) const {
    std::string all;
    std::FILE* const pipe = ::popen(command.c_str(), "re");
    if (!pipe) fail(where + ": the command cannot be started");
    std::array<char, 4096> room;
    for (std::size_t n;
         all.size() <= secret_bytes_max && (n = std::fread(room.data(), 1, room.size(), pipe)) > 0;)
      all.append(room.data(), n);
    const int ended = ::pclose(pipe);
    if (all.size() > secret_bytes_max) fail(where + ": the command printed more than 64 KiB");
    if (ended != 0) fail(where + ": the command '" + command + "' failed");
    return all;
  }

  // Headers often carry tokens.
  void warn_if_public() const {
    struct stat about;
    if (::stat(path_.c_str(), &about) != 0 || (about.st_mode & (S_IRGRP | S_IROTH)) == 0) return;
    print_warning("other users can read " + terminal_line(path_) + ", which contains values of headers",
                  "use chmod 600, or {\"file\": PATH} or {\"command\": TEXT} as a value");
  }

  std::string path_;
  std::string where_;
  bool has_literal_secret_ = false;
};

}  // namespace

std::string configuration_path() {
  const auto variable = [](const char* name) {
    const char* const value = std::getenv(name);
    return std::string(value ? value : "");
  };
  if (const std::string file = variable("CORACLE_CONFIG"); !file.empty()) return file;
  const std::string folder = variable("XDG_CONFIG_HOME");
  return (folder.empty() ? variable("HOME") + "/.config" : folder) + "/coracle/config.json";
}

target target_named(const std::string& name) { return configuration().read(name); }

std::vector<std::string> target_names() noexcept try {
  std::vector<std::string> names;
  const json all = configuration().targets();
  for (const auto& [name, value] : all.items()) names.push_back(name);
  return names;
} catch (const std::exception&) {
  return {};
}

}  // namespace coracle::tools
