// drops: fails calls to a cluster, as the control plane asks for: a share of them in an overload
// (drop_overloads of a ClusterLoadAssignment; gRFC A27), and those above the number that may be in progress
// (gRFC A32). It counts all calls for that, and for load reports.
#pragma once

#include "client/balancing/policy_slot.hpp"
#include "coracle/net/address.hpp"
#include "xds/balancing/calls_in_progress.hpp"
#include "xds/load/cluster_load.hpp"
#include "xds/resource/endpoints.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace coracle::xds {

// What a control plane says of a server.
struct server_facts : client::server_access {
  xds::locality locality;

  friend bool operator==(const server_facts&, const server_facts&) = default;
};

// Shared by servers that have nothing else of their own.
struct shared_facts {
  std::shared_ptr<const server_facts> of;

  friend bool operator==(const shared_facts& a, const shared_facts& b) noexcept {
    return a.of == b.of || (a.of && b.of && *a.of == *b.of);
  }
};

// By each of their addresses, of which there may be thousands: sorted, without a node for each.
class facts_by_server {
 public:
  facts_by_server() noexcept = default;
  explicit facts_by_server(const std::map<net::address, shared_facts>& of) : sorted_(of.begin(), of.end()) {}
  // Null: nothing is known.
  [[nodiscard]] std::shared_ptr<const server_facts> find(const net::address& a) const noexcept;

  friend bool operator==(const facts_by_server&, const facts_by_server&) = default;

 private:
  std::vector<std::pair<net::address, shared_facts>> sorted_;
};

struct drops_options {
  std::string cluster;
  std::vector<drop_category> categories;
  std::uint32_t calls_max = 0;
  std::shared_ptr<calls_in_progress> calls;
  std::shared_ptr<cluster_load> load;  // null: it is not reported
  facts_by_server servers;
  std::uint32_t connections_max = 0;  // to one server (gRFC A105); 0: as the channel says

  friend bool operator==(const drops_options&, const drops_options&) = default;
};

class drops_config final : public client::policy_config {
 public:
  drops_config(drops_options options, balancing child) noexcept
      : options_(std::move(options)), child_(std::move(child)) {}
  [[nodiscard]] const drops_options& options() const noexcept { return options_; }
  [[nodiscard]] const balancing& child() const noexcept { return child_; }
  [[nodiscard]] std::string_view family() const noexcept override { return "drops"; }
  [[nodiscard]] bool equals(const policy_config& other) const noexcept override {
    const auto& o = static_cast<const drops_config&>(other);
    return options_ == o.options_ && child_ == o.child_;
  }
  [[nodiscard]] rpc::policy_outline outline() const override;
  [[nodiscard]] std::unique_ptr<client::balancer> make(client::balancer_host& host) const override;

 private:
  drops_options options_;
  balancing child_;
};

// Each category has a draw of its own. A call that is dropped fails even if it waits for ready, and is not
// retried. Nothing is dropped before the child has a server for the call, and a call has one draw, however
// long it waits.
// Calls are in progress from the time that they have a server, also while they wait for a stream of it. Those
// that then get a server of another cluster have to pass there, too. A server whose locality changes has its
// calls counted there from then on.
class drops final : public client::balancer, private client::forwarding_host {
 public:
  explicit drops(client::balancer_host& host) noexcept : balancer(host), forwarding_host(host) {}
  ~drops() override { child_.reset(); }

  void update(const balancing& policy, const std::vector<client::endpoint>& servers) override;
  void connect() override { child_->connect(); }
  client::pick choose(const client::pick_info& call) override;

 private:
  // balancer_host
  client::subchannel& make_subchannel(const client::endpoint& to, client::subchannel_user& user) override;

  [[nodiscard]] server_labels labels() const override;

  [[nodiscard]] const drops_options& options() const noexcept;
  // Null: nothing.
  [[nodiscard]] std::shared_ptr<const server_facts> facts_of(const client::endpoint& where) const noexcept;
  [[nodiscard]] client::pick drop(std::size_t reason, std::string_view category) const;
  [[nodiscard]] std::shared_ptr<locality_load> load_of(const locality& where) const;
  void apply_facts(calls_to_server& calls) const;
  void set_labels(client::subchannel& of);

  std::shared_ptr<const client::policy_config> config_;  // a drops_config
  // Of each subchannel that was made, until it is dropped and its calls have ended.
  std::vector<std::shared_ptr<calls_to_server>> servers_;
  std::map<locality, std::shared_ptr<const server_labels>> labels_;  // shared by subchannels
  // What the calls of a category get, in the order of the categories; and then those above the maximum.
  std::vector<client::no_server> dropped_;
  client::policy_slot child_;
};

}  // namespace coracle::xds
