// audit_logger: records the decisions of authorization policies.
#pragma once

#include "coracle/base/result.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace coracle {

/// A decision of an authorization policy about a call (gRFC A59). It and its texts are valid during the call
/// that passes it.
struct audit_event {
  std::string_view method;  ///< the path of the method, "/package.Service/Method", as the client sent it
  /// The SPIFFE id in the client's verified certificate; empty without one.
  std::string_view principal;
  std::string_view policy;  ///< the name of the policy, or of the RBAC filter of a control plane
  std::string_view rule;  ///< the rule that matched; empty if none did
  bool authorized = false;  ///< whether this policy admits the call; a handler or interceptor may reject it
};

/// Records decisions of authorization policies (gRFC A59). Policies name loggers, and
/// register_audit_logger() says how those of a name are made. A policy keeps its loggers.
class audit_logger {
 public:
  virtual ~audit_logger() = default;
  /// Records a decision; called on the call's loop, concurrently on several loops, before the call continues.
  /// It must not wait. An exception ends the call with a status, as those of interceptors do.
  virtual void log(const audit_event& event) = 0;
};

/// Makes a logger with its configuration, an object of JSON, such as `{}`. A status that is not OK makes the
/// policy invalid.
using audit_logger_factory = std::function<result<std::shared_ptr<audit_logger>>(std::string_view config)>;

/// Registers how loggers of that name are made, for the whole process: for `audit_loggers` of policies, and
/// for a `TypedStruct` of a control plane whose type, after the last "/", is that name. A later registration
/// of the same name replaces the earlier one for the policies that are read afterwards. Register before
/// policies are read; any thread. The name "stdout_logger" is registered: its loggers write audit_line() to
/// the standard output, and ignore their configuration.
///
/// Throws usage_error if the name or the factory is empty.
void register_audit_logger(std::string name, audit_logger_factory make);

/// Returns the decision as one line of JSON with a line end, as the loggers of other implementations write it
/// (here broken into three lines):
///
///   {"grpc_audit_log":{"timestamp":"2026-01-31T08:15:30.123456Z",
///   "rpc_method":"/movie.MovieService/AddMovie","principal":"spiffe://example.org/admin/ada",
///   "policy_name":"movies","matched_rule":"movies_admins","authorized":true}}
[[nodiscard]] std::string audit_line(const audit_event& event, std::chrono::system_clock::time_point at);

}  // namespace coracle
