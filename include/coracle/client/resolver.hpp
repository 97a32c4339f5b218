// resolver: finds the servers of a target for a channel, and updates them as long as the channel lives.
#pragma once

#include "coracle/base/result.hpp"
#include "coracle/coro/task.hpp"
#include "coracle/coro/watch.hpp"
#include "coracle/net/address.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace coracle::client {

/// A target "scheme:[//authority/]endpoint", parsed as RFC 3986 specifies. A value type.
class target {
 public:
  /// Parses `text`. If its scheme is not in `known`, the whole text, such as "example.org:50051", is the
  /// endpoint of a dns target. Decodes percent-escapes of the endpoint. Returns INVALID_ARGUMENT, with a
  /// suggested fix, if the text is empty, or names a scheme or an authority without an endpoint, or uses an
  /// unknown scheme with "//".
  static result<target> parse(std::string_view text, const std::vector<std::string_view>& known);

  [[nodiscard]] const std::string& text() const noexcept { return text_; }  ///< as passed to parse()
  [[nodiscard]] const std::string& scheme() const noexcept { return scheme_; }  ///< lower case
  /// Returns the part between "//" and the next '/', such as a name server; usually empty.
  [[nodiscard]] const std::string& authority() const noexcept { return authority_; }
  /// Returns the part after the scheme, or after the '/' that ends the authority: "example.org:50051",
  /// "/run/x.sock".
  [[nodiscard]] const std::string& endpoint() const noexcept { return endpoint_; }

 private:
  target() = default;
  std::string text_;
  std::string scheme_;
  std::string authority_;
  std::string endpoint_;
};

/// One server. A value type.
class endpoint {
 public:
  /// weight: the share of calls that the server gets under a policy that uses weights; 0 means none.
  explicit endpoint(net::address at, std::uint32_t weight = 1) : address_(std::move(at)), weight_(weight) {}

  /// Returns where to connect to.
  [[nodiscard]] const net::address& address() const noexcept { return address_; }
  /// Returns the share of calls; 0 means none.
  [[nodiscard]] std::uint32_t weight() const noexcept { return weight_; }

  /// Changes the share of calls; 0 means none.
  void set_weight(std::uint32_t weight) noexcept { weight_ = weight; }

  /// Adds another address of the same server (gRFC A61). A connection is made to the first one that answers:
  /// each gets a head start of 250 ms over the next, and they alternate between address families (RFC 8305).
  endpoint& add_address(net::address another) {
    return change().other_addresses.push_back(std::move(another)), *this;
  }
  /// Returns the addresses after the first one, in the order of add_address().
  [[nodiscard]] const std::vector<net::address>& other_addresses() const noexcept {
    return details().other_addresses;
  }
  /// Sets what ring_hash hashes in place of the address, so that a server keeps its calls when its address
  /// changes (gRFC A76).
  endpoint& hash_key(std::string key) {
    if (more_ || !key.empty()) change().hash_key = std::move(key);
    return *this;
  }
  /// Returns what was set; empty if nothing was.
  [[nodiscard]] const std::string& hash_key() const noexcept { return details().hash_key; }

  /// Sets what the source of the server says about it, such as its zone, for policies of the program
  /// (pick_candidate::where()).
  endpoint& attribute(std::string name, std::string value) {
    return change().attributes.insert_or_assign(std::move(name), std::move(value)), *this;
  }
  /// Returns what was set, by name.
  [[nodiscard]] const std::map<std::string, std::string, std::less<>>& attributes() const noexcept {
    return details().attributes;
  }

  /// Returns whether everything of them is the same.
  friend bool operator==(const endpoint& a, const endpoint& b) noexcept {
    return a.address_ == b.address_ && a.weight_ == b.weight_ &&
           (a.more_ == b.more_ || a.details() == b.details());
  }

 private:
  // What few endpoints have, shared by the copies of one: a channel has several of each endpoint, and there
  // may be thousands.
  struct more {
    std::vector<net::address> other_addresses;
    std::string hash_key;
    std::map<std::string, std::string, std::less<>> attributes;

    friend bool operator==(const more&, const more&) = default;
  };
  [[nodiscard]] const more& details() const noexcept { return more_ ? *more_ : none(); }
  [[nodiscard]] static const more& none() noexcept;
  [[nodiscard]] more& change();

  net::address address_;
  std::uint32_t weight_;
  std::shared_ptr<const more> more_;  // null: nothing
};

struct channel_routing;  // private: src/client/call/call_router.hpp

/// The result of a resolver. A value type, in builder style.
class resolution {
 public:
  /// The maximum number of endpoints of one result. The channel drops the rest, and logs a warning.
  static constexpr std::size_t endpoints_max = 10'000;

  /// No endpoints and no service config.
  resolution() noexcept {}
  /// Adds a server after those that were added before.
  resolution& add(endpoint e) { return endpoints_.push_back(std::move(e)), *this; }
  /// Adds the server at `at`.
  resolution& add(net::address at, std::uint32_t weight = 1) { return add(endpoint(std::move(at), weight)); }
  /// Sets a service config in JSON (grpc/grpc doc/service_config.md) that the resolver found.
  resolution& service_config(std::string json) { return service_config_ = std::move(json), *this; }

  /// @cond  For resolvers of the library that route calls.
  resolution& routing(std::shared_ptr<const channel_routing> r) { return routing_ = std::move(r), *this; }
  [[nodiscard]] const std::shared_ptr<const channel_routing>& routing() const noexcept { return routing_; }
  /// @endcond
  /// Returns the servers, in the order of add().
  [[nodiscard]] const std::vector<endpoint>& endpoints() const noexcept { return endpoints_; }
  /// Returns the service config in JSON; empty if there is none.
  [[nodiscard]] const std::string& service_config() const noexcept { return service_config_; }

 private:
  std::vector<endpoint> endpoints_;
  std::string service_config_;
  std::shared_ptr<const channel_routing> routing_;
};
static_assert(!std::is_aggregate_v<resolution>);

/// Receives the results of a resolver for one channel. On the loop on which resolver::run() runs.
class resolution_sink {
 public:
  /// Replaces the servers of the channel.
  virtual void publish(resolution found) = 0;
  /// Reports that resolution failed. Calls continue with the last published servers, or fail with UNAVAILABLE
  /// if there are none. After a failure wait_until_requested() does not return before a pause has passed: 1
  /// s, growing by a factor of 1.6 up to 120 s.
  virtual void fail(const status& reason) = 0;
  /// Returns when the channel requests another resolution, because a connection was lost or could not be
  /// made; not before channel_options::resolve_pause (30 s) has passed since the last publish().
  virtual task<> wait_until_requested() = 0;

 protected:
  ~resolution_sink() = default;
};

/// Finds the servers of a target. Users derive from it.
///
/// channel_options::resolver takes a resolver for one channel, channel_options::add_resolver() a maker for
/// a scheme.
class resolver {
 public:
  virtual ~resolver() = default;
  /// Resolves the target in a loop: resolves, publishes, waits for wait_until_requested() or for an event of
  /// its own, and repeats.
  ///
  /// It runs once per channel, on a loop of the channel's runtime, from the first call or connect(). When the
  /// channel is destroyed its waits end with coro::cancelled. Any other exception counts as a failure to
  /// resolve. Both arguments outlive the task.
  virtual task<> run(const target& of, resolution_sink& to) = 0;
  /// Returns the :authority of the channel, which TLS verifies, unless channel_options::authority replaces
  /// it. Called once, when the channel is made, for a resolver that a maker made. Default: the endpoint of
  /// the target.
  [[nodiscard]] virtual std::string authority(const target& of) const { return of.endpoint(); }
};

/// Makes a resolver for a target.
using resolver_maker = std::function<std::shared_ptr<resolver>(const target& of)>;

/// Publishes the servers that the program sets, to any number of channels of one runtime. For lists that the
/// program maintains, and for tests. It must outlive the channels' runtime, or only the channels may own it.
class manual_resolver final : public resolver {
 public:
  /// Publishes `first` until set() is called.
  explicit manual_resolver(resolution first) : now_(std::make_shared<const resolution>(std::move(first))) {}
  /// Replaces the servers. May be called from any thread.
  void set(resolution next) { now_.set(std::make_shared<const resolution>(std::move(next))); }
  task<> run(const target& of, resolution_sink& to) override;

 private:
  watch<std::shared_ptr<const resolution>> now_;  // a watch must not fail to copy its value
};

}  // namespace coracle::client
