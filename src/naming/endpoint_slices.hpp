// endpoint_slices: the EndpointSlices of one Kubernetes service (discovery.k8s.io/v1).
#pragma once

#include "coracle/base/result.hpp"
#include "naming/server_list.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::naming {

// Which port of the pods a target names: a number, a name, or the first one.
struct wanted_port {
  std::uint16_t number = 0;
  std::string name;
};

// Keeps what a LIST and a WATCH say. No I/O.
class endpoint_slices {
 public:
  // Of all slices together. Kubernetes recommends no more than 1,000 endpoints of a service.
  static constexpr std::size_t endpoints_max = 10'000;
  static constexpr std::size_t slices_max = 2'000;
  // Of one request of a LIST. A slice has at most 1,000 endpoints, by default 100, of about 500 bytes and 30
  // values each: a page is within the limits of a document.
  static constexpr std::size_t page_slices = 5;
  // Of a LIST. A page may have fewer slices than was asked for, and none.
  static constexpr std::size_t pages_max = slices_max;
  // The limits of Kubernetes itself, which bound what is kept of an endpoint: the characters of a name or a
  // zone, and the zones of a hint. Longer names are errors; longer or further zones are ignored.
  static constexpr std::size_t name_bytes_max = 253;
  static constexpr std::size_t zones_max = 8;

  // zone: of this client; empty if it is not known.
  endpoint_slices(wanted_port port, std::string zone) : port_(std::move(port)), zone_(std::move(zone)) {}

  // --- a LIST, in pages; the slices of the last one stay until it is complete
  void begin_list() {
    incoming_ = {};
    pages_ = 0;
  }
  // Returns the token of the next page; empty after the last page, with which the list is complete. The
  // status is INVALID_ARGUMENT if it is no EndpointSliceList, and RESOURCE_EXHAUSTED beyond the limits above.
  [[nodiscard]] result<std::string> add_page(std::string_view json);

  // --- a WATCH
  enum class change : std::uint8_t {
    none,  // only the version has moved
    servers,  // perhaps also those of servers()
    expired,  // the version is too old for the server (410): a LIST must follow
  };
  // Takes one line. The status is INVALID_ARGUMENT if it is no event, and UNAVAILABLE if the server reports
  // another error.
  [[nodiscard]] result<change> apply(std::string_view line);

  // Where a WATCH begins; empty before the first LIST.
  [[nodiscard]] const std::string& version() const noexcept { return version_; }
  // The version is useless: a LIST must follow.
  void expire() { version_.clear(); }

  // The servers that get calls. Those that are ready; if there are none, those that terminate and still
  // serve. With a zone, and if each of them has hints, only those whose hints name the zone, unless there are
  // none. IPv4 addresses, or, if no pod has one, IPv6 addresses. Each address once, in the order of
  // addresses.
  [[nodiscard]] server_list servers() const;

 private:
  struct pod_endpoint {
    std::string address;
    bool ready = false;
    bool drains = false;  // terminates, and still serves
    std::vector<std::string> zones;  // of its hints
    std::string zone;
    std::string node;
  };
  struct slice {
    bool ipv6 = false;
    std::uint16_t port = 0;  // 0: it has no port of the wanted kind
    std::vector<pod_endpoint> endpoints;
  };
  struct slice_map {
    std::map<std::string, slice> by_name;
    std::size_t endpoints = 0;  // of all
    void erase(const std::string& name);
  };

  [[nodiscard]] result<slice> read_slice(const nlohmann::json& object) const;
  [[nodiscard]] std::uint16_t read_port(const nlohmann::json& object) const;
  [[nodiscard]] status put(slice_map& into, const nlohmann::json& object) const;

  const wanted_port port_;
  const std::string zone_;
  slice_map slices_;
  slice_map incoming_;
  std::size_t pages_ = 0;  // that incoming_ has had
  std::string version_;
};

}  // namespace coracle::naming
