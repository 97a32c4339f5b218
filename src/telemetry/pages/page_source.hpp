// page_source: what the pages of operators show, as JSON. Each function is one page.
#pragma once

#include "coracle/coro/task.hpp"
#include "services/json_text.hpp"
#include "telemetry/core.hpp"
#include "telemetry/pages/call_timelines.hpp"
#include "telemetry/pages/calls_in_progress.hpp"
#include "telemetry/pages/page_history.hpp"

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace coracle::telemetry_internal {

// Any loop of the runtime. docs/reference/pages_json.md describes the JSON; its names do not change.
class page_source : public std::enable_shared_from_this<page_source> {
 public:
  // The maxima of one answer; it says how many there are.
  static constexpr std::size_t connections_max = 1000;
  static constexpr std::size_t channels_max = 100;
  static constexpr std::size_t subchannels_max = 100;
  static constexpr std::size_t configured_max = 100;  // clients of control planes
  static constexpr std::size_t policies_max = 500;  // of one of them
  static constexpr std::size_t tasks_bytes_max = std::size_t{64} << 10;  // of each loop

  page_source(std::shared_ptr<core> of, std::shared_ptr<calls_in_progress> calls, bool cancels)
      : core_(of), calls_(std::move(calls)), cancels_(cancels), history_(std::move(of)) {}

  // Returns the JSON of a page; null if there is no page of that name.
  [[nodiscard]] task<services::ordered_json> page(std::string_view name);
  // Returns the text of the page "rpcz", of all methods or of one: as it may be long, it is not made on a
  // loop. Nothing if too many read it already.
  [[nodiscard]] task<std::optional<std::string>> rpcz(std::string method);
  // These perform an action of a page. They throw services::invalid_request.
  void set_log_levels(const services::ordered_json& request);
  [[nodiscard]] task<> cancel_call(services::ordered_json request);

 private:
  using json = services::ordered_json;
  task<json> overview();
  task<json> connections();
  task<json> channels();
  task<json> calls();
  task<json> loops();
  task<json> memory();
  task<json> limits();
  task<json> control_planes();
  task<calls_listing> list_calls();
  [[nodiscard]] json certificates() const;
  [[nodiscard]] json configuration() const;
  [[nodiscard]] json log_levels() const;
  [[nodiscard]] json version() const;
  [[nodiscard]] runtime& rt() const noexcept { return core_->owner(); }

  const std::shared_ptr<core> core_;
  const std::shared_ptr<calls_in_progress> calls_;
  const bool cancels_;
  page_history history_;
  call_timelines recorded_;
};

}  // namespace coracle::telemetry_internal
