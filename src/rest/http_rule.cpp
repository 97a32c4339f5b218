#include "rest/http_rule.hpp"

#include "base/printable.hpp"
#include "rpc/proto_wire.hpp"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>

#include <nlohmann/json.hpp>

#include <array>
#include <optional>
#include <utility>

namespace coracle::rest {

namespace {

using protocol::rest::path_template;

// google.api.HttpRule before its parts are checked.
struct raw_rule {
  std::string selector;
  std::string http_method;  // empty if there is no pattern
  std::string path;
  std::string body;
  std::string response_body;
  std::vector<raw_rule> additional;
};

struct pattern_kind {
  std::uint32_t field;  // of google.api.HttpRule
  const char* name;
  const char* http_method;
};
constexpr std::array<pattern_kind, 5> pattern_kinds{{{2, "get", "GET"},
                                                     {3, "put", "PUT"},
                                                     {4, "post", "POST"},
                                                     {5, "delete", "DELETE"},
                                                     {6, "patch", "PATCH"}}};

constexpr std::uint32_t http_option = 72'295'728;  // google.api.http

// As protobuf merges: the last pattern of a oneof counts.
bool read_rule(std::string_view bytes, raw_rule& to, bool may_add) {
  rpc::proto_reader in(bytes);
  while (in.next()) {
    for (const pattern_kind& kind : pattern_kinds)
      if (in.field() == kind.field) {
        to.http_method = kind.http_method;
        to.path = in.text();
      }
    switch (in.field()) {
      case 1: to.selector = in.text(); break;
      case 7: to.body = in.text(); break;
      case 8: {
        to.http_method.clear();
        to.path.clear();
        rpc::proto_reader custom(in.text());
        while (custom.next()) {
          if (custom.field() == 1) to.http_method = custom.text();
          if (custom.field() == 2) to.path = custom.text();
        }
        if (!custom.ok()) return false;
        break;
      }
      case 11: {
        if (!may_add) return false;
        if (!read_rule(in.text(), to.additional.emplace_back(), false)) return false;
        break;
      }
      case 12: to.response_body = in.text(); break;
      default: break;
    }
  }
  return in.ok();
}

status broken(std::string_view method, std::string_view reason) {
  return status::invalid_argument("the HTTP rule of " + std::string(method) + ": " + std::string(reason));
}

status add_rule(std::string_view method, raw_rule& raw, std::vector<http_rule>& to) {
  if (to.size() == http_rules_max)
    return broken(method, "a method has at most " + std::to_string(http_rules_max) + " bindings");
  if (raw.http_method.empty())
    return broken(method, "one of get, put, post, delete, patch and custom (with its kind) is required");
  auto path = path_template::parse(raw.path);
  if (!path.ok()) return broken(method, path.status().message());
  to.push_back(
      {std::move(raw.http_method), *std::move(path), std::move(raw.body), std::move(raw.response_body)});
  return {};
}

result<std::vector<http_rule>> check_rules(std::string_view method, raw_rule raw,
                                           const invalid_rule_handler& on_invalid) {
  std::vector<http_rule> rules;
  const auto add = [&](raw_rule& one) -> status {
    status failed = add_rule(method, one, rules);
    if (failed.ok() || !on_invalid) return failed;
    on_invalid(failed);
    return {};
  };
  if (status failed = add(raw); !failed.ok()) return failed;
  for (raw_rule& more : raw.additional) {
    if (status failed = add(more); !failed.ok()) return failed;
  }
  return rules;
}

// Thrown to leave the parser of the file; caught in http_rule_file::parse().
struct broken_file {
  std::string reason;
};

std::string text_of(const nlohmann::json& value, const std::string& where) {
  if (!value.is_string()) throw broken_file{where + " must be a string"};
  return value.get<std::string>();
}

const nlohmann::json& object_of(const nlohmann::json& value, std::string_view where) {
  if (!value.is_object()) throw broken_file{std::string(where) + " must be an object"};
  return value;
}

const nlohmann::json& array_of(const nlohmann::json& value, std::string_view where) {
  if (!value.is_array()) throw broken_file{std::string(where) + " must be an array"};
  return value;
}

raw_rule rule_of(const nlohmann::json& value, const std::string& where, bool may_add) {
  raw_rule rule;
  const auto set_pattern = [&](std::string http_method, std::string path) {
    if (!rule.http_method.empty()) throw broken_file{where + " has two patterns"};
    rule.http_method = std::move(http_method);
    rule.path = std::move(path);
  };
  for (const auto& [name, member] : object_of(value, where).items()) {
    const std::string at = where + "." + base::printable(name);
    const auto* kind = pattern_kinds.begin();
    while (kind != pattern_kinds.end() && name != kind->name) ++kind;
    if (kind != pattern_kinds.end()) {
      set_pattern(kind->http_method, text_of(member, at));
    } else if (name == "selector" && may_add) {
      rule.selector = text_of(member, at);
    } else if (name == "body") {
      rule.body = text_of(member, at);
    } else if (name == "responseBody" || name == "response_body") {
      rule.response_body = text_of(member, at);
    } else if (name == "custom") {
      const nlohmann::json& custom = object_of(member, at);
      if (custom.size() != 2 || !custom.contains("kind") || !custom.contains("path"))
        throw broken_file{at + " needs kind and path"};
      set_pattern(text_of(custom["kind"], at + ".kind"), text_of(custom["path"], at + ".path"));
    } else if ((name == "additionalBindings" || name == "additional_bindings") && may_add) {
      std::size_t i = 0;
      for (const nlohmann::json& more : array_of(member, at))
        rule.additional.push_back(rule_of(more, at + "[" + std::to_string(i++) + "]", false));
    } else {
      throw broken_file{at + " is no member of a rule here"};
    }
  }
  return rule;
}

}  // namespace

result<std::vector<http_rule>> http_rules_of(const google::protobuf::MethodDescriptor& method,
                                             const invalid_rule_handler& on_invalid) {
  // Serialized, it does not matter whether the program knows the option: as a class, from another pool, or
  // not at all.
  const std::string options = method.options().SerializeAsString();
  std::optional<raw_rule> raw;
  const auto unreadable = [&](std::string_view reason) -> result<std::vector<http_rule>> {
    status failed = broken(method.full_name(), reason);
    if (!on_invalid) return failed;
    on_invalid(failed);
    return std::vector<http_rule>();
  };
  rpc::proto_reader in(options);
  while (in.next()) {
    if (in.field() != http_option) continue;
    if (!raw) raw.emplace();
    if (!read_rule(in.text(), *raw, true)) return unreadable("the option cannot be read");
  }
  if (!in.ok()) return unreadable("the options of the method cannot be read");
  if (!raw) return std::vector<http_rule>();
  return check_rules(method.full_name(), *std::move(raw), on_invalid);
}

result<http_rule_file> http_rule_file::parse(std::string_view json, const invalid_rule_handler& on_invalid) {
  http_rule_file file;
  try {
    const auto top = nlohmann::json::parse(json);
    const auto http = object_of(top, "the file").find("http");
    if (http == top.end()) throw broken_file{"http is missing"};
    for (const auto& [name, member] : object_of(*http, "http").items()) {
      if (name == "fullyDecodeReservedExpansion" || name == "fully_decode_reserved_expansion") continue;
      if (name != "rules") throw broken_file{"http." + base::printable(name) + " is no member of http"};
      std::size_t i = 0;
      for (const nlohmann::json& value : array_of(member, "http.rules")) {
        const std::string where = "http.rules[" + std::to_string(i++) + "]";
        raw_rule raw = rule_of(value, where, true);
        if (raw.selector.empty()) throw broken_file{where + " needs a selector, the full name of a method"};
        if (raw.selector.find('*') != std::string::npos)
          throw broken_file{where + ".selector must be the full name of one method"};
        const std::string selector = raw.selector;
        invalid_rule_handler skip;
        if (on_invalid)
          skip = [&](const status& s) {
            on_invalid(status(s.code(), "the HTTP rules: " + where + ": " + std::string(s.message())));
          };
        auto rules = check_rules(selector, std::move(raw), skip);
        if (!rules.ok()) throw broken_file{where + ": " + std::string(rules.status().message())};
        file.methods_[selector] = *std::move(rules);
      }
    }
  } catch (const nlohmann::json::exception& e) {
    return status::invalid_argument("the HTTP rules are no valid JSON: " + base::printable(e.what()));
  } catch (const broken_file& b) {
    return status::invalid_argument("the HTTP rules: " + b.reason);
  }
  return file;
}

const std::vector<http_rule>* http_rule_file::find(std::string_view method_full_name) const {
  const auto found = methods_.find(method_full_name);
  return found == methods_.end() ? nullptr : &found->second;
}

}  // namespace coracle::rest
