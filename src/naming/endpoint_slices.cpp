#include "naming/endpoint_slices.hpp"

#include "base/printable.hpp"
#include "naming/attributes.hpp"
#include "rpc/json_document.hpp"

#include <algorithm>
#include <utility>

namespace coracle::naming {

namespace {

using nlohmann::json;

constexpr int gone = 410;
// Versions and tokens are opaque; those of servers have less than 1 KiB.
constexpr std::size_t opaque_bytes_max = 8192;
// Of an IP address in text; more than any has.
constexpr std::size_t address_characters_max = 64;

// A member that is not null, or null itself.
const json& member_of(const json& object, const char* name) {
  static const json null;
  if (!object.is_object()) return null;
  const auto found = object.find(name);
  return found == object.end() ? null : *found;
}

std::string text_of(const json& object, const char* name) {
  const json& value = member_of(object, name);
  return value.is_string() ? value.get<std::string>() : std::string();
}

// Of the API server, which sends them back: too long ones are not kept.
std::string opaque_of(const json& object, const char* name) {
  std::string text = text_of(object, name);
  return text.size() > opaque_bytes_max ? std::string() : text;
}

bool condition_of(const json& endpoint, const char* name, bool if_null) {
  const json& value = member_of(member_of(endpoint, "conditions"), name);
  return value.is_boolean() ? value.get<bool>() : if_null;
}

status wrong_answer(std::string_view what) {
  return status::invalid_argument("the API server sent no " + std::string(what));
}

}  // namespace

std::uint16_t endpoint_slices::read_port(const json& object) const {
  const json& ports = member_of(object, "ports");
  if (!ports.is_array()) return port_.number;  // every port
  for (const json& one : ports) {
    const std::string protocol = text_of(one, "protocol");
    if (!protocol.empty() && protocol != "TCP") continue;
    const json& value = member_of(one, "port");
    if (value.is_null() && port_.number != 0) return port_.number;  // every port
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() - 1 >= 65535) continue;
    const auto number = static_cast<std::uint16_t>(value.get<std::uint64_t>());
    if (port_.number != 0 ? number == port_.number : port_.name.empty() || text_of(one, "name") == port_.name)
      return number;
  }
  return 0;
}

result<endpoint_slices::slice> endpoint_slices::read_slice(const json& object) const {
  slice made;
  const std::string type = text_of(object, "addressType");
  made.ipv6 = type == "IPv6";
  if (type != "IPv4" && type != "IPv6") return made;  // a name (FQDN) has no address
  made.port = read_port(object);
  const json& endpoints = member_of(object, "endpoints");
  if (made.port == 0 || !endpoints.is_array()) return made;
  if (endpoints.size() > endpoints_max)
    return status::resource_exhausted("an EndpointSlice has more than " + std::to_string(endpoints_max) +
                                      " endpoints");
  for (const json& one : endpoints) {
    const json& addresses = member_of(one, "addresses");
    // All addresses of an endpoint reach the same pod: consumers use the first one.
    if (!addresses.is_array() || addresses.empty() || !addresses[0].is_string()) continue;
    pod_endpoint pod;
    pod.address = addresses[0].get<std::string>();
    if (pod.address.size() > address_characters_max) continue;
    pod.ready = condition_of(one, "ready", true);
    pod.drains =
        !pod.ready && condition_of(one, "terminating", false) && condition_of(one, "serving", pod.ready);
    const json& zones = member_of(member_of(one, "hints"), "forZones");
    if (zones.is_array()) {
      for (const json& zone : zones) {
        std::string zone_name = text_of(zone, "name");
        if (pod.zones.size() < zones_max && zone_name.size() <= name_bytes_max)
          pod.zones.push_back(std::move(zone_name));
      }
    }
    for (const auto& [name, to] : {std::pair{"zone", &pod.zone}, {"nodeName", &pod.node}})
      if (std::string text = text_of(one, name); text.size() <= name_bytes_max) *to = std::move(text);
    if (pod.ready || pod.drains) made.endpoints.push_back(std::move(pod));
  }
  return made;
}

void endpoint_slices::slice_map::erase(const std::string& name) {
  const auto found = by_name.find(name);
  if (found == by_name.end()) return;
  endpoints -= found->second.endpoints.size();
  by_name.erase(found);
}

status endpoint_slices::put(slice_map& into, const json& object) const {
  const std::string name = text_of(member_of(object, "metadata"), "name");
  if (name.empty() || name.size() > name_bytes_max) return wrong_answer("EndpointSlice with a name");
  result<slice> made = read_slice(object);
  if (!made) return made.status();
  into.erase(name);
  into.endpoints += made->endpoints.size();
  into.by_name.emplace(name, *std::move(made));
  if (into.by_name.size() > slices_max || into.endpoints > endpoints_max)
    return status::resource_exhausted("the service has more than " + std::to_string(slices_max) +
                                      " EndpointSlices or " + std::to_string(endpoints_max) + " endpoints");
  return {};
}

result<std::string> endpoint_slices::add_page(std::string_view text) {
  if (++pages_ > pages_max)
    return status::resource_exhausted("the list of EndpointSlices has more than " +
                                      std::to_string(pages_max) + " pages");
  if (const status valid = check_document(text); !valid.ok())
    return status(valid.code(), "the list of EndpointSlices: " + std::string(valid.message()));
  const rpc::json_document document(text);
  const json& list = document.whole();
  const json& items = member_of(list, "items");
  const json& about = member_of(list, "metadata");
  // A list without items has null.
  if (text_of(list, "kind") != "EndpointSliceList" || !about.is_object() ||
      (!items.is_array() && !items.is_null()))
    return wrong_answer("EndpointSliceList");
  for (const json& one : items)
    if (status failed = put(incoming_, one); !failed.ok()) return failed;
  std::string next = opaque_of(about, "continue");
  if (next.empty()) {
    std::string version = opaque_of(about, "resourceVersion");
    if (version.empty()) return wrong_answer("resourceVersion");
    version_ = std::move(version);
    slices_ = std::exchange(incoming_, {});
  }
  return next;
}

result<endpoint_slices::change> endpoint_slices::apply(std::string_view line) {
  if (const status valid = check_document(line); !valid.ok())
    return status(valid.code(), "the watch of EndpointSlices: " + std::string(valid.message()));
  const rpc::json_document document(line);
  const json& event = document.whole();
  const json& object = member_of(event, "object");
  const std::string type = text_of(event, "type");
  if (type == "ERROR") {
    const json& code = member_of(object, "code");
    if (code.is_number_unsigned() && code.get<std::uint64_t>() == gone) {
      version_.clear();
      return change::expired;
    }
    return status::unavailable("the API server ended the watch: " +
                               base::printable(text_of(object, "message")));
  }
  std::string version = opaque_of(member_of(object, "metadata"), "resourceVersion");
  if (version.empty()) return wrong_answer("event of a watch");
  change made = change::servers;
  if (type == "BOOKMARK") {
    made = change::none;
  } else if (type == "DELETED") {
    slices_.erase(text_of(member_of(object, "metadata"), "name"));
  } else if (type == "ADDED" || type == "MODIFIED") {
    if (status failed = put(slices_, object); !failed.ok()) return failed;
  } else {
    return wrong_answer("event of a watch");
  }
  version_ = std::move(version);
  return made;
}

server_list endpoint_slices::servers() const {
  struct candidate {
    bool ready = false;
    const pod_endpoint* pod = nullptr;
  };
  std::map<net::address, candidate> found;
  bool any_v4 = false;
  bool any_ready = false;
  for (const auto& [_, one] : slices_.by_name) {
    for (const pod_endpoint& pod : one.endpoints) {
      const result<net::address> at = net::address::parse((one.ipv6 ? "[" + pod.address + "]" : pod.address) +
                                                          ":" + std::to_string(one.port));
      if (!at || !at->is_ip()) continue;
      // An endpoint may be in two slices while it moves from one to the other.
      candidate& c = found[*at];
      c.ready = c.ready || pod.ready;
      c.pod = &pod;
    }
  }
  for (const auto& [at, c] : found) any_ready = any_ready || c.ready;
  std::erase_if(found, [&](const auto& one) { return one.second.ready != any_ready; });
  for (const auto& [at, c] : found) any_v4 = any_v4 || at.kind() == net::address::family::ipv4;
  std::erase_if(found,
                [&](const auto& one) { return (one.first.kind() == net::address::family::ipv4) != any_v4; });
  const auto near = [&](const auto& one) { return std::ranges::count(one.second.pod->zones, zone_) != 0; };
  const bool hinted = !zone_.empty() && std::ranges::none_of(found, [](const auto& one) {
    return one.second.pod->zones.empty();
  });
  const bool by_zone = hinted && std::ranges::any_of(found, near);
  server_list list;
  for (const auto& one : found) {
    if (by_zone && !near(one)) continue;
    client::endpoint& server = list.servers.emplace_back(one.first);
    if (const std::string& zone = one.second.pod->zone; !zone.empty()) add_attribute(server, "zone", zone);
    if (const std::string& node = one.second.pod->node; !node.empty()) add_attribute(server, "node", node);
  }
  return list;
}

}  // namespace coracle::naming
