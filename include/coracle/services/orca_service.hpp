// orca_service: reports the load of a server in streams (xds.service.orca.v3, gRFC A51).
#pragma once

#include "coracle/base/clock.hpp"
#include "coracle/server/service.hpp"

#include <chrono>
#include <cstddef>
#include <memory>

namespace coracle {

class load_reporter;

/// Reports the load of a server out of band: clients that balance their calls by it, and load balancers,
/// keep one stream per connection open.
///
///   auto load = std::make_shared<coracle::load_reporter>();
///   load->measure_cpu();
///   coracle::orca_service orca(load);
///   server.add(orca);
///
/// A client gets a report at once, and then one after each interval: the one that it asks for, but not less
/// than the minimum, and up to an eighth of the minimum more, so that the streams of a loop wake it up
/// together. Each report has all values of the load_reporter, also if nothing has changed. Streams
/// end with UNAVAILABLE when the server drains. The object must outlive the server.
///
/// The reports tell every client that can connect how busy the server is, and no more than the load_reporter
/// has. Source: gRFC A51.
class orca_service {
 public:
  /// The minimum interval of A51 and of other implementations.
  static constexpr duration default_min_interval = std::chrono::seconds(30);
  /// The least minimum interval; a smaller one becomes this one.
  static constexpr duration least_min_interval = std::chrono::milliseconds(1);
  /// Maximum concurrent streams; further ones end with RESOURCE_EXHAUSTED.
  static constexpr std::size_t streams_max = 10'000;

  /// Reports what `load` has, at most once per `min_interval` and stream.
  explicit orca_service(std::shared_ptr<load_reporter> load, duration min_interval = default_min_interval);
  orca_service(const orca_service&) = delete;
  orca_service& operator=(const orca_service&) = delete;
  ~orca_service();

  /// The service to add to the server.
  operator service&() noexcept;

 private:
  class implementation;
  std::unique_ptr<implementation> implementation_;
};

}  // namespace coracle
