// ads_driver: runs an ads_client, over a stream to each control plane that it wants to be open.
#pragma once

#include "coracle/client/channel_handle.hpp"
#include "coracle/coro/event.hpp"
#include "coracle/coro/scope.hpp"
#include "coracle/coro/task.hpp"
#include "xds/ads/ads_client.hpp"

#include <functional>
#include <map>
#include <memory>
#include <string_view>

namespace coracle::xds {

// Lives on the loop of run(), where all of its functions are called and watches hear of their events.
// Resources do not change and may be used on any loop.
class ads_driver {
 public:
  // Makes the channel to a control plane, with the credentials that the bootstrap says.
  using channel_maker = std::function<channel(const management_server&)>;
  using watch_function = std::function<void(const watch_event&)>;

  ads_driver(std::shared_ptr<const bootstrap> from, ads_client::options of, channel_maker make)
      : client_(std::move(from), std::move(of)), make_(std::move(make)) {}

  // Runs until it is stopped, and ends with coro::cancelled then. Once. The driver must outlive it.
  [[nodiscard]] task<> run();

  // Calls `tell` for each event, never before watch() has returned. It may watch and cancel, also itself, and
  // does not throw.
  watch_id watch(resource_kind kind, std::string_view name, watch_function tell);
  void cancel(watch_id watch);

  [[nodiscard]] const ads_client& client() const noexcept { return client_; }

 private:
  struct stream;

  [[nodiscard]] task<> steer(scope& streams);
  [[nodiscard]] task<> run_stream(std::shared_ptr<stream> s);
  [[nodiscard]] task<> converse(std::shared_ptr<stream> s, status& end);
  [[nodiscard]] task<> read_responses(std::shared_ptr<stream> s, status& end);
  void carry_out(time_point now, scope& streams);
  void write_notes();
  void measure_events();
  void tell_all();

  ads_client client_;
  channel_maker make_;
  std::map<server_id, std::shared_ptr<stream>> streams_;
  // A function is kept while it runs, though it may cancel its watch.
  std::map<watch_id, std::shared_ptr<const watch_function>> watches_;
  event<> due_;
};

}  // namespace coracle::xds
