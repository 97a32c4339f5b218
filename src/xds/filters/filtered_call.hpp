// filtered_call: what the filters of its route do to one call of a client.
#pragma once

#include "client/call/call_router.hpp"
#include "client/call/preparation.hpp"
#include "coracle/base/clock.hpp"
#include "coracle/xds/xds_filter.hpp"
#include "xds/routing/header_matcher.hpp"
#include "xds/routing/route_lookup.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace coracle::xds {

// Where a call goes, as far as filters know and decide it. It lasts while they begin.
struct filtered_route {
  route_request request;
  const metadata& sent;
  const random_below& random;
  const route_action& action;
  const weighted_cluster* cluster;  // one of the action; a filter may choose another one
};

// Adds to the first fields of a response.
class response_filter {
 public:
  response_filter() noexcept = default;
  response_filter(const response_filter&) = delete;
  response_filter& operator=(const response_filter&) = delete;
  virtual ~response_filter() = default;
  // addresses: of the server, the one that is preferred first.
  virtual void headers_received(metadata& received, const std::vector<net::address>& addresses,
                                std::string_view cluster) const = 0;
};

class filtered_call final : public client::call_filters {
 public:
  explicit filtered_call(filtered_route& of) noexcept : of_(&of) {}
  // The filters have begun: their route may go.
  void begun();
  // Whether the call has anything of filters to come.
  [[nodiscard]] bool is_filtered() const noexcept { return !steps_.empty() || !responses_.empty(); }

  // --- for filters, while they begin
  [[nodiscard]] filtered_route& route() noexcept { return *of_; }
  // What is done before the first attempt, in this order. The delay is left out if `enter` returns null, and
  // what it returns is kept meanwhile.
  using entering = std::function<std::shared_ptr<const void>()>;
  void delay(duration by, entering enter);
  void end(status outcome);
  void ask(std::shared_ptr<const xds_filter> filter);
  void add(std::unique_ptr<const response_filter> filter) { responses_.push_back(std::move(filter)); }
  // The call is one of a session; `server`: the one that the session is on, empty for the first call.
  void prefer(std::vector<net::address> server) noexcept {
    is_of_session_ = true;
    if (!server.empty()) preferred_ = std::move(server);
  }

  // call_route::preferred, and is_of_session
  [[nodiscard]] const std::vector<net::address>& preferred() const noexcept { return preferred_; }
  [[nodiscard]] bool is_of_session() const noexcept { return is_of_session_; }

  // call_filters
  [[nodiscard]] bool waits() const noexcept override { return !steps_.empty(); }
  [[nodiscard]] task<client::prepared> prepare() override;
  void headers_received(metadata& received, const client::call_route& of) override;

 private:
  struct step {
    duration delay{};
    entering enter{};
    std::optional<status> outcome{};
    std::shared_ptr<const xds_filter> asks{};
  };

  filtered_route* of_;
  std::string path_;  // for those that are asked
  metadata sent_;
  std::vector<step> steps_;
  std::vector<net::address> preferred_;
  bool is_of_session_ = false;
  std::string cluster_;  // for response filters
  std::vector<std::unique_ptr<const response_filter>> responses_;
};

}  // namespace coracle::xds
