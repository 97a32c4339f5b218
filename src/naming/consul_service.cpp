#include "naming/consul_service.hpp"

#include "base/printable.hpp"
#include "naming/attributes.hpp"
#include "rpc/json_document.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

namespace coracle::naming {

namespace {

using nlohmann::json;

const json& consul_member(const json& object, const char* name) {
  static const json null;
  if (!object.is_object()) return null;
  const auto found = object.find(name);
  return found == object.end() ? null : *found;
}

std::string consul_text(const json& object, const char* name) {
  const json& value = consul_member(object, name);
  return value.is_string() ? value.get<std::string>() : std::string();
}

bool has_tags(const json& service, const std::vector<std::string>& tags) {
  const json& own = consul_member(service, "Tags");
  return std::ranges::all_of(tags, [&](const std::string& tag) {
    return own.is_array() && std::ranges::any_of(own, [&](const json& one) { return one == tag; });
  });
}

// The agent leaves out what does not pass; this is for one that does not.
bool passes(const json& instance) {
  const json& checks = consul_member(instance, "Checks");
  return !checks.is_array() ||
         std::ranges::all_of(checks, [](const json& one) { return consul_text(one, "Status") == "passing"; });
}

}  // namespace

result<consul_query> parse_consul_query(std::string_view endpoint) {
  const auto wrong = [&](std::string_view why) {
    return status::invalid_argument("\"" + base::printable(endpoint) + "\" " + std::string(why) +
                                    ": write consul:///service?tag=name&dc=name");
  };
  consul_query query;
  const std::size_t mark = endpoint.find('?');
  query.service = endpoint.substr(0, mark);
  if (query.service.empty() || query.service.find('/') != std::string::npos)
    return wrong("is not the name of a service");
  std::string_view rest = mark == endpoint.npos ? std::string_view() : endpoint.substr(mark + 1);
  while (!rest.empty()) {
    const std::size_t end = rest.find('&');
    const std::string_view one = rest.substr(0, end);
    rest.remove_prefix(end == rest.npos ? rest.size() : end + 1);
    if (one.starts_with("tag=") && one.size() > 4) query.tags.emplace_back(one.substr(4));
    else if (one.starts_with("dc=") && one.size() > 3) query.datacenter = one.substr(3);
    else return wrong("has a parameter that is neither tag nor dc");
  }
  return query;
}

result<server_list> read_consul_answer(std::string_view text, const std::vector<std::string>& tags) {
  if (const status valid = check_document(text); !valid.ok())
    return status(valid.code(), "the answer of Consul: " + std::string(valid.message()));
  const rpc::json_document document(text);
  const json& all = document.whole();
  if (!all.is_array()) return status::invalid_argument("the answer of Consul is no list of instances");
  server_list list;
  for (const json& instance : all) {
    const json& service = consul_member(instance, "Service");
    if (!service.is_object())
      return status::invalid_argument("the answer of Consul has an instance without Service");
    if (!passes(instance) || !has_tags(service, tags)) continue;
    std::string host = consul_text(service, "Address");
    if (host.empty()) host = consul_text(consul_member(instance, "Node"), "Address");
    const json& port = consul_member(service, "Port");
    if (!port.is_number_unsigned() || port.get<std::uint64_t>() - 1 >= 65535) continue;
    if (host.find(':') != std::string::npos) host = "[" + host + "]";
    const result<net::address> at =
        net::address::parse(host + ":" + std::to_string(port.get<std::uint64_t>()));
    if (!at || !at->is_ip()) continue;
    client::endpoint one(*at, weight_in(consul_member(service, "Weights"), "Passing").value_or(1));
    add_attributes(one, consul_member(service, "Meta"));
    list.servers.push_back(std::move(one));
  }
  // Consul's order changes with `near` and between agents.
  std::ranges::sort(list.servers, {}, [](const client::endpoint& e) { return e.address(); });
  return list;
}

result<std::uint64_t> next_consul_index(std::uint64_t before, std::string_view header) {
  std::uint64_t index = 0;
  const auto [end, error] = std::from_chars(header.data(), header.data() + header.size(), index);
  if (error != std::errc() || end != header.data() + header.size())
    return status::unavailable("Consul sent no X-Consul-Index: \"" + base::printable(header) + "\"");
  return index < before ? 0 : index;
}

std::string write_consul_instance(const std::string& id, const std::string& name,
                                  const client::endpoint& server, const std::vector<std::string>& tags,
                                  long ttl_seconds) {
  const net::address& at = server.address();
  std::string host = at.with_port(0).to_string();
  host.resize(host.rfind(':'));
  if (host.starts_with('[')) host = host.substr(1, host.size() - 2);
  const json check = {{"TTL", std::to_string(ttl_seconds) + "s"},
                      {"Status", "passing"},
                      {"DeregisterCriticalServiceAfter", "1m"}};  // the least that Consul takes
  const json instance = {{"ID", id},
                         {"Name", name},
                         {"Address", host},
                         {"Port", at.port()},
                         {"Tags", tags},
                         {"Meta", server.attributes()},
                         {"Weights", {{"Passing", server.weight()}, {"Warning", 1}}},
                         {"Check", check}};
  return instance.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace coracle::naming
