// with_etcd, etcd_registration: targets whose servers are registered in etcd, and how servers register.
#pragma once

#include "coracle/base/clock.hpp"
#include "coracle/client/channel_options.hpp"
#include "coracle/client/resolver.hpp"
#include "coracle/security/credentials.hpp"
#include "coracle/server/service.hpp"

#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

namespace coracle {

class runtime;

/// Where etcd is. A value type.
class etcd_options {
 public:
  /// etcd_server: a target of a channel, such as "127.0.0.1:2379" or "ipv4:10.0.0.1:2379,10.0.0.2:2379" for
  /// the members of a cluster. etcd_credentials: insecure(), or tls::client_options().
  etcd_options(std::string etcd_server, channel_credentials etcd_credentials)
      : server(std::move(etcd_server)), credentials(std::move(etcd_credentials)) {}
  /// A target of a channel.
  std::string server;
  /// Of that channel.
  channel_credentials credentials;
  /// The user of etcd's authentication, with its password. Requests then have a token, which is obtained anew
  /// when etcd no longer accepts it. Without TLS the password is sent to this machine only. Default: none.
  std::string user;
  /// Of the user.
  std::string password;
};
static_assert(!std::is_aggregate_v<etcd_options>, "GCC 12 destroys aggregates in co_await expressions twice");

/// Adds the scheme "etcd": a channel to "etcd:///movies" uses the servers that are registered in etcd under
/// that name, and follows their changes. Link coracle::naming.
///
///     coracle::with_etcd(options, {"127.0.0.1:2379", coracle::insecure()});
///     const coracle::channel channel(runtime, "etcd:///movies", credentials, options);
///
/// The keys and values are those of etcd's package for Go (clientv3/naming/endpoints), and of
/// etcd_registration: the key "movies/ID" has {"Op":0,"Addr":"10.0.0.1:50051"}, where Addr is of
/// net::address::parse(). If there is an object Metadata, its member "weight" is the weight of the server,
/// and its other texts, numbers and booleans are attributes of the endpoint. Other members are ignored. A
/// value of another form is passed over; the log says so once. The rules of docs/guides/naming.md apply.
///
/// :authority, which TLS verifies, is channel_options::authority, or else the part of the name behind its
/// last '/'.
void with_etcd(channel_options& to, etcd_options options);

/// Registers a server in etcd while it serves. It is added to the server like a service, so that it learns
/// when the server leaves. It then removes the server from etcd: new calls go elsewhere while those that are
/// in progress end. Set server_options::leave_time, so that clients learn of it before connections are
/// refused.
///
///     coracle::etcd_registration registration({"127.0.0.1:2379", coracle::insecure()});
///     server.add(registration);
///     server.listen("*:50051", credentials);
///     registration.announce(server.owner(), "movies", "10.0.0.1:50051");
///
/// The key is NAME/ADDRESS, and has a lease that is kept alive. If the program ends without a drain, or etcd
/// cannot be reached for longer than the lease, etcd removes the key. The registration is repeated until it
/// succeeds, and whenever the lease is lost. The log has one line for each change. Like a service, the object
/// must outlive the server; its destructor removes the server from etcd, too, if there was no drain.
class etcd_registration final : public service {
 public:
  /// The time after which etcd removes a server that does not report.
  static constexpr duration lease_time = std::chrono::seconds(15);

  /// Does not connect yet.
  explicit etcd_registration(etcd_options options);
  ~etcd_registration() override;
  etcd_registration(const etcd_registration&) = delete;
  etcd_registration& operator=(const etcd_registration&) = delete;

  /// Registers `address`, to which clients connect, under `name`, on a loop of `on`, and returns at once. A
  /// server may have several names and addresses. Nothing is registered after the server has begun to leave.
  ///
  /// runtime::run() returns after the registration was removed; an etcd that does not answer delays that by
  /// 15 s at most. Throws usage_error if the name is empty, or begins or ends with '/', or the address is not
  /// one of net::address::parse(), or stands for all interfaces (0.0.0.0 or [::]), or has the port 0.
  void announce(runtime& on, const std::string& name, const std::string& address);
  /// As above, with the weight and the attributes of the server, which go into Metadata. Its other addresses
  /// and its hash key do not.
  void announce(runtime& on, const std::string& name, const client::endpoint& server);

  /// @cond  For the server.
  [[nodiscard]] method_table methods() const noexcept override { return {}; }
  void leaving() noexcept override;
  void replaced(std::span<const net::address> given_up) noexcept override;
  void resumed() noexcept override;
  /// @endcond

 private:
  class state;
  std::shared_ptr<state> state_;
};

}  // namespace coracle
