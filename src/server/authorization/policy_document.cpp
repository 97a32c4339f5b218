#include "server/authorization/policy_document.hpp"

#include "base/printable.hpp"
#include "rpc/json_document.hpp"
#include "server/authorization/audit_loggers.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <set>
#include <utility>
#include <vector>

namespace coracle::server_internal {

namespace {

using nlohmann::json;

// Thrown to leave the parser; caught in parse_policy().
struct invalid_policy {
  std::string text;
};

// A text with "*" at its end, or at its beginning, which stand for any text there; "*" alone is any text but
// the empty one.
class pattern final : public text_condition {
 public:
  explicit pattern(std::string_view text) {
    if (text == "*") {
      kind_ = kind::not_empty;
    } else if (text.ends_with('*')) {
      kind_ = kind::prefix;
      text_ = text.substr(0, text.size() - 1);
    } else if (text.starts_with('*')) {
      kind_ = kind::suffix;
      text_ = text.substr(1);
    } else {
      text_ = text;
    }
  }
  [[nodiscard]] bool matches(std::string_view text) const override {
    switch (kind_) {
      case kind::exact: return text == text_;
      case kind::prefix: return text.starts_with(text_);
      case kind::suffix: return text.ends_with(text_);
      case kind::not_empty: return !text.empty();
    }
    return false;
  }

 private:
  enum class kind : unsigned char { exact, prefix, suffix, not_empty };
  kind kind_ = kind::exact;
  std::string text_;
};

class header_condition final : public condition {
 public:
  header_condition(std::string name, std::vector<text_condition_ptr> values)
      : name_(std::move(name)), values_(std::move(values)) {}
  [[nodiscard]] bool matches(const call_facts& call) const override {
    std::string joined;
    const auto value = call.header(name_, joined);
    return value && std::ranges::any_of(values_, [&](const auto& v) { return v->matches(*value); });
  }

 private:
  const std::string name_;
  const std::vector<text_condition_ptr> values_;
};

bool is_unsupported(std::string_view header) {
  constexpr std::array<std::string_view, 9> of_one_hop = {
      "host",    "connection",        "keep-alive", "proxy-authenticate", "proxy-authorization", "te",
      "trailer", "transfer-encoding", "upgrade"};
  return header.starts_with(':') || header.starts_with("grpc-") ||
         std::ranges::find(of_one_hop, header) != of_one_hop.end();
}

// A value and its path from the top: "allow_rules[0].request".
class place {
 public:
  place(const json& value, std::string where) : value_(value), where_(std::move(where)) {}

  [[noreturn]] void refuse(std::string_view reason) const {
    throw invalid_policy{where_.empty() ? "the policy " + std::string(reason)
                                        : where_ + " " + std::string(reason)};
  }
  // A policy with a field that is not understood may mean less than it says.
  void require_object(std::initializer_list<std::string_view> fields) const {
    if (!value_.is_object()) refuse("must be an object");
    for (const auto& [name, member] : value_.items())
      if (std::ranges::find(fields, std::string_view(name)) == fields.end())
        refuse("has an unknown field: \"" + base::printable(name) + "\"");
  }
  [[nodiscard]] std::optional<place> find(const char* name) const {
    const auto found = value_.find(name);
    if (found == value_.end()) return std::nullopt;
    return place(*found, where_.empty() ? name : where_ + "." + name);
  }
  [[nodiscard]] std::string text() const {
    if (!value_.is_string()) refuse("must be a string");
    return value_.get<std::string>();
  }
  [[nodiscard]] std::string name() const {
    const auto found = find("name");
    if (!found) refuse("has no name");
    std::string text = found->text();
    if (text.empty()) found->refuse("must not be empty");
    return text;
  }
  // Of an array; absent is the same as empty.
  [[nodiscard]] std::vector<place> elements(const char* name) const {
    std::vector<place> all;
    const auto found = find(name);
    if (!found) return all;
    if (!found->value_.is_array()) found->refuse("must be an array");
    for (std::size_t i = 0; i < found->value_.size(); ++i)
      all.emplace_back(found->value_[i], found->where_ + "[" + std::to_string(i) + "]");
    return all;
  }
  [[nodiscard]] const json& value() const noexcept { return value_; }

 private:
  const json& value_;
  const std::string where_;
};

class policy_reader {
 public:
  policy_rules read(const place& at) {
    at.require_object({"name", "deny_rules", "allow_rules", "audit_logging_options"});
    policy_rules to;
    to.name = at.name();
    read_audit(at, to.allowed);
    to.allowed.policy = to.name;
    to.allowed.rules = rules(at, "allow_rules", to.name);
    if (to.allowed.rules.empty()) at.refuse("has no allow_rules");
    if (auto denying = rules(at, "deny_rules", to.name); !denying.empty()) {
      // The other rules decide afterwards: a call is recorded once (gRFC A59).
      const bool audited = to.allowed.audited == audit_condition::on_deny ||
                           to.allowed.audited == audit_condition::on_deny_and_allow;
      to.denied = rule_set{to.name, rule_action::deny, std::move(denying),
                           audited ? audit_condition::on_deny : audit_condition::none, to.allowed.loggers};
    }
    return to;
  }

 private:
  text_condition_ptr text(const place& at) {
    if (++patterns_ > policy_patterns_max)
      at.refuse("exceeds " + std::to_string(policy_patterns_max) + " principals, paths and values");
    return std::make_unique<const pattern>(at.text());
  }

  condition_ptr principal(const std::optional<place>& source) {
    if (!source) return always(true);
    source->require_object({"principals"});
    std::vector<condition_ptr> any;
    for (const place& each : source->elements("principals")) any.push_back(is_authenticated(text(each)));
    return any.empty() ? always(true) : any_of(std::move(any));
  }

  condition_ptr header(const place& at) {
    at.require_object({"key", "values"});
    const auto key = at.find("key");
    std::string name = key ? key->text() : std::string();
    if (name.empty()) at.refuse("has no key");
    for (char& c : name)
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if (is_unsupported(name)) key->refuse("is a header that rules cannot match: " + base::printable(name));
    std::vector<text_condition_ptr> values;
    for (const place& each : at.elements("values")) values.push_back(text(each));
    if (values.empty()) at.refuse("has no values");
    return std::make_unique<const header_condition>(std::move(name), std::move(values));
  }

  condition_ptr permission(const std::optional<place>& request) {
    if (!request) return always(true);
    request->require_object({"paths", "headers"});
    std::vector<condition_ptr> all;
    std::vector<condition_ptr> paths;
    for (const place& each : request->elements("paths")) paths.push_back(path_matches(text(each)));
    if (!paths.empty()) all.push_back(any_of(std::move(paths)));
    for (const place& each : request->elements("headers")) all.push_back(header(each));
    return all_of(std::move(all));
  }

  std::vector<authorization_rule> rules(const place& policy, const char* list, const std::string& prefix) {
    std::vector<authorization_rule> all;
    std::set<std::string> names;
    for (const place& at : policy.elements(list)) {
      if (all.size() == policy_rules_max)
        at.refuse("exceeds " + std::to_string(policy_rules_max) + " rules of " + list);
      at.require_object({"name", "source", "request"});
      std::string name = prefix + "_" + at.name();
      if (!names.insert(name).second) at.refuse("has the name of another rule");
      all.push_back({std::move(name), permission(at.find("request")), principal(at.find("source"))});
    }
    return all;
  }

  static audit_condition condition_of(const place& at) {
    const std::string text = at.text();
    if (text.empty() || text == "NONE") return audit_condition::none;
    if (text == "ON_DENY") return audit_condition::on_deny;
    if (text == "ON_ALLOW") return audit_condition::on_allow;
    if (text == "ON_DENY_AND_ALLOW") return audit_condition::on_deny_and_allow;
    at.refuse("must be NONE, ON_DENY, ON_ALLOW or ON_DENY_AND_ALLOW");
  }

  static void add_logger(const place& at, rule_set& to) {
    at.require_object({"name", "config", "is_optional"});
    const std::string name = at.name();
    const auto config = at.find("config");
    if (config && !config->value().is_object()) config->refuse("must be an object");
    const auto optional = at.find("is_optional");
    if (optional && !optional->value().is_boolean()) optional->refuse("must be true or false");
    auto made = make_audit_logger(name, config ? config->value().dump() : "{}");
    if (!made) at.refuse("is invalid: " + std::string(made.status().message()));
    if (*made) return to.loggers.push_back(*std::move(made));
    if (!optional || !optional->value().get<bool>())
      at.refuse("names an audit logger that is not registered: " + base::printable(name));
  }

  static void read_audit(const place& policy, rule_set& to) {
    const auto at = policy.find("audit_logging_options");
    if (!at) return;
    at->require_object({"audit_condition", "audit_loggers"});
    if (const auto when = at->find("audit_condition")) to.audited = condition_of(*when);
    const auto loggers = at->elements("audit_loggers");
    if (loggers.size() > policy_loggers_max)
      at->refuse("exceeds " + std::to_string(policy_loggers_max) + " audit_loggers");
    for (const place& each : loggers) add_logger(each, to);
  }

  std::size_t patterns_ = 0;
};

status invalid(std::string_view reason) {
  return status::invalid_argument("the authorization policy is invalid: " + std::string(reason));
}

}  // namespace

result<policy_rules> parse_policy(std::string_view text) {
  if (text.size() > policy_bytes_max)
    return invalid(std::to_string(text.size()) + " bytes, limit " + std::to_string(policy_bytes_max));
  if (const status valid = rpc::check_json(text); !valid.ok()) return invalid(valid.message());
  const rpc::json_document document(text);
  try {
    return policy_reader().read(place(document.whole(), ""));
  } catch (const invalid_policy& p) {
    return invalid(p.text);
  }
}

}  // namespace coracle::server_internal
