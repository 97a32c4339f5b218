// xds_filter: filters of a program, for the calls that a control plane sends through them. Link coracle::xds.
#pragma once

#include "coracle/base/result.hpp"
#include "coracle/base/status.hpp"
#include "coracle/coro/task.hpp"
#include "coracle/rpc/metadata.hpp"

#include <memory>
#include <string_view>

namespace coracle {

class server_context;

/// A call of a client that passes a filter; valid until xds_filter::before_call() ends.
class xds_client_call {
 public:
  xds_client_call(const xds_client_call&) = delete;
  xds_client_call& operator=(const xds_client_call&) = delete;

  /// Returns the path of the method: "/package.Service/Method".
  [[nodiscard]] std::string_view method() const noexcept { return method_; }
  /// Returns the metadata of the caller.
  [[nodiscard]] const coracle::metadata& metadata() const noexcept { return sent_; }
  /// Returns what all attempts of the call send beside it. The route has been chosen without it.
  [[nodiscard]] coracle::metadata& added_metadata() noexcept { return added_; }

 protected:
  xds_client_call(std::string_view method, const coracle::metadata& sent, coracle::metadata& added) noexcept
      : method_(method), sent_(sent), added_(added) {}
  ~xds_client_call() = default;

 private:
  std::string_view method_;
  const coracle::metadata& sent_;
  coracle::metadata& added_;
};

/// A filter with its configuration, for the calls of some routes (gRFC A39). Calls on several loops use it
/// concurrently. It lives as long as a configuration or a call has it.
class xds_filter {
 public:
  virtual ~xds_filter() = default;
  /// Runs for each call of a client, on its loop, when the call has its route and no server yet: once for all
  /// attempts, after the filters that the control plane lists before it. The call goes on when this returns
  /// OK, and else ends with the status that it returns. An exception ends it with INTERNAL. The task is
  /// stopped when the call ends, by its deadline, for example. Default: OK.
  [[nodiscard]] virtual task<status> before_call(xds_client_call& call) const;
  /// Runs for each call of a server, on its loop, before its handler, as an interceptor does. Default: OK.
  [[nodiscard]] virtual task<status> before_handler(server_context& call) const;
};

/// The configuration that a control plane sends for a filter; valid during the call that passes it.
struct xds_filter_config {
  /// The full name of the message: "example.v1.Quota".
  std::string_view type;
  /// The serialized message, or the JSON of a TypedStruct.
  std::string_view content;
  bool is_json = false;  ///< whether `content` is JSON
};

/// One kind of filters, for xds_options::filters. It is used on several loops concurrently.
class xds_filter_type {
 public:
  virtual ~xds_filter_type() = default;
  /// Returns the full name of the message that configures the filter in a Listener: "example.v1.Quota". A
  /// name that the library knows itself is never asked for.
  [[nodiscard]] virtual std::string_view type() const noexcept = 0;
  /// Returns that of the message that overrides it for a virtual host, a route or a weighted cluster.
  /// Default: type().
  [[nodiscard]] virtual std::string_view override_type() const noexcept { return type(); }
  /// Reads a configuration. A failure, or an exception, becomes part of the reason for which the Listener is
  /// rejected, or the RouteConfiguration with an override. Null: the filter does nothing.
  [[nodiscard]] virtual result<std::shared_ptr<const xds_filter>> read(
      const xds_filter_config& from) const = 0;
  /// Reads an override: what it returns stands in place of the filter. Default: read().
  [[nodiscard]] virtual result<std::shared_ptr<const xds_filter>> read_override(
      const xds_filter_config& from) const {
    return read(from);
  }
};

}  // namespace coracle
