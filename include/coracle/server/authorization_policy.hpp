// authorization_policy: admits calls by a document of rules, which may be a file that changes.
#pragma once

#include "coracle/base/clock.hpp"
#include "coracle/base/result.hpp"
#include "coracle/server/server_interceptor.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace coracle {

class server;

namespace server_internal {
struct policy_rules;  // private: src/server/authorization/policy_document.hpp
}

/// An authorization policy as gRPC has it (gRFC A43): a document of JSON that says which clients may call
/// which methods. A value; copies share what was read. Any thread may use it.
///
///   {
///     "name": "movies",
///     "deny_rules": [{"name": "no_deletes", "request": {"paths": ["*/Delete"]}}],
///     "allow_rules": [
///       {"name": "admins", "source": {"principals": ["spiffe://example.org/admin/*"]}},
///       {"name": "readers", "request": {"paths": ["/movie.MovieService/Get*"],
///                                       "headers": [{"key": "x-team", "values": ["web", "app"]}]}}
///     ]
///   }
///
/// A call that matches one of the deny rules is rejected, and else admitted if it matches one of the allow
/// rules. A rule matches if one of its principals, one of its paths, and one value of each of its headers do;
/// what it does not name matches every call. "*" at the end or the beginning of a text stands for any text
/// there, and "*" alone for any text but the empty one.
///
/// Principals are compared with the names in the client's verified certificate: its URIs, or if it has none
/// its hosts, or else its subject (RFC 2253); with "" if a client of TLS has no certificate. They match no
/// client in plaintext. Several values of a header count as one text, joined by ","; binary ones are in
/// base64 without padding. Rules cannot name "host", headers of one hop, and those that begin with ":" or
/// "grpc-".
///
/// A call that no rule concerns costs a comparison with each principal, path and value. Rules on paths,
/// principals and headers with one value allocate nothing.
class authorization_policy {
 public:
  /// Reads a policy. Fails with INVALID_ARGUMENT and the place of what is wrong: for text that is not JSON,
  /// fields that the format does not have, a policy without a name or without allow rules, rules of one list
  /// with the same name, an audit logger that is not registered (see register_audit_logger()) unless it is
  /// optional, and more than 1 MiB, 1,000 rules of a list, 10,000 principals, paths and values, or 16
  /// loggers.
  static result<authorization_policy> parse(std::string_view json);

  /// Returns its name.
  [[nodiscard]] const std::string& name() const noexcept;
  /// Decides about a call: OK, or PERMISSION_DENIED with the message that grpc-go has, which does not name
  /// the rule. Tells the audit loggers of the policy.
  [[nodiscard]] status decide(const server_context& call) const;

 private:
  explicit authorization_policy(std::shared_ptr<const server_internal::policy_rules> rules) noexcept
      : rules_(std::move(rules)) {}
  std::shared_ptr<const server_internal::policy_rules> rules_;
};

/// Makes an interceptor for server::add_interceptor() that lets only those calls pass that the policy admits.
/// Add it before those that do work for a call.
[[nodiscard]] std::shared_ptr<server_interceptor> authorize_by(authorization_policy policy);

/// How a file with a policy is followed.
class authorization_file_options {
 public:
  /// The least interval; a smaller one counts as this one.
  static constexpr duration interval_min = std::chrono::milliseconds(100);

  /// All defaults.
  authorization_file_options() noexcept(false) {}
  /// The time after which the file is read again. Default: 10 s.
  duration interval = std::chrono::seconds(10);
  /// Called with each policy that comes into use after the first one, on loop 0 of the server's runtime. It
  /// must not throw. May be empty.
  std::function<void(const authorization_policy&)> on_update;
};

/// Admits the calls of `to` by the policy in a file (gRFC A43), which is read now and then again at each
/// interval, until the server drains. Adds an interceptor: call it where you would call
/// server::add_interceptor(), before the first listen() or in_process(). Blocks while it reads.
///
/// If the file cannot be read, or its policy is invalid, it fails with that status, and adds nothing. If that
/// happens later, the policy in use stays in use, and the log has one line, and another one for each other
/// reason. Replace the file by renaming another one, so that no half of it is read.
status authorize_by_file(server& to, std::string path, authorization_file_options options = {});

}  // namespace coracle
