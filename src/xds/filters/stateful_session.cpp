#include "base/printable.hpp"
#include "coracle/base/impl/base64.hpp"
#include "xds/filters/filtered_call.hpp"
#include "xds/filters/known_filters.hpp"
#include "xds/limits.hpp"
#include "xds/resource/wire_values.hpp"
#include "xds/wire/http_filters.pb.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace coracle::xds {

namespace {

// What a cookie says: the addresses of a server, and the cluster that it is of.
struct session {
  std::vector<net::address> server;
  std::string_view cluster;
};

constexpr std::string_view cluster_prefix = "cluster:";

// "10.0.0.1:80,[fd00::1]:80;cluster:name". What cannot be read is left out.
session read_session(std::string_view text) {
  session to;
  const auto semicolon = text.find(';');
  std::string_view addresses = text.substr(0, semicolon);
  if (semicolon != text.npos && text.substr(semicolon + 1).starts_with(cluster_prefix))
    to.cluster = text.substr(semicolon + 1 + cluster_prefix.size());
  while (!addresses.empty() && to.server.size() < limits::addresses_per_endpoint_max) {
    const auto comma = addresses.find(',');
    auto parsed = net::address::parse(addresses.substr(0, comma));
    if (parsed && parsed->is_ip()) to.server.push_back(*std::move(parsed));
    addresses = comma == addresses.npos ? std::string_view() : addresses.substr(comma + 1);
  }
  return to;
}

// The value of the first cookie of that name (RFC 6265 4.2.1).
std::optional<std::string_view> find_cookie(const metadata& sent, std::string_view name) {
  for (std::string_view left : sent.find_all("cookie")) {
    while (!left.empty()) {
      const auto semicolon = left.find(';');
      std::string_view one = left.substr(0, semicolon);
      left = semicolon == left.npos ? std::string_view() : left.substr(semicolon + 1);
      while (one.starts_with(' ')) one.remove_prefix(1);
      if (one.size() > name.size() && one.starts_with(name) && one[name.size()] == '=')
        return one.substr(name.size() + 1);
    }
  }
  return std::nullopt;
}

// RFC 6265 5.1.4
bool is_within(std::string_view path, std::string_view of_cookie) {
  if (of_cookie.empty() || path == of_cookie) return true;
  return path.starts_with(of_cookie) && (of_cookie.ends_with('/') || path[of_cookie.size()] == '/');
}

// Tells the caller which server its session is on, unless it has said so itself.
class cookie_setter final : public response_filter {
 public:
  cookie_setter(session known, std::string known_cluster, std::string cluster, std::string name,
                std::string attributes)
      : known_(std::move(known.server)),
        known_cluster_(std::move(known_cluster)),
        cluster_(std::move(cluster)),
        name_(std::move(name)),
        attributes_(std::move(attributes)) {}

  void headers_received(metadata& received, const net::address& server) const override {
    if (known_cluster_ == cluster_ && std::ranges::find(known_, server) != known_.end()) return;
    std::string value = server.to_string();
    value.append(";").append(cluster_prefix).append(cluster_);
    received.add("set-cookie", name_ + "=" + base::padded_base64(value) + attributes_);
  }

 private:
  const std::vector<net::address> known_;
  const std::string known_cluster_;
  const std::string cluster_;
  const std::string name_;
  const std::string attributes_;
};

class stateful_session final : public filter {
 public:
  stateful_session(const wire::Cookie& from, const field_path& at) : name_(from.name()), path_(from.path()) {
    if (name_.empty()) at.at("name").refuse("must not be empty");
    attributes_ = "; HttpOnly";
    if (!path_.empty()) attributes_.append("; Path=").append(path_);
    if (from.has_ttl()) {
      const duration ttl = duration_of(from.ttl(), at.at("ttl"));
      const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(ttl).count();
      if (seconds > 0) attributes_.append("; Max-Age=").append(std::to_string(seconds));
    }
  }

  void begin_call(filtered_call& call) const override {
    filtered_route& route = call.route();
    if (!is_within(route.request.path, path_)) return;
    std::string text;
    const auto cookie = find_cookie(route.sent, name_);
    if (cookie && !base::base64_decode(*cookie, text)) text.clear();
    session known = read_session(text);
    for (const weighted_cluster& c : route.action.clusters)
      if (!known.server.empty() && c.name == known.cluster) route.cluster = &c;
    call.prefer(known.server);
    std::string of(known.cluster);
    call.add(std::make_unique<const cookie_setter>(std::move(known), std::move(of), route.cluster->name,
                                                   name_, attributes_));
  }
  [[nodiscard]] bool has_sessions() const noexcept override { return true; }

 private:
  const std::string name_;
  const std::string path_;
  std::string attributes_;
};

class stateful_session_type final : public filter_type {
 public:
  stateful_session_type() noexcept : filter_type(side::clients) {}

  [[nodiscard]] bool has_type(std::string_view type) const noexcept override {
    return type == "envoy.extensions.filters.http.stateful_session.v3.StatefulSession";
  }
  [[nodiscard]] bool has_override(std::string_view type) const noexcept override {
    return type == "envoy.extensions.filters.http.stateful_session.v3.StatefulSessionPerRoute";
  }
  [[nodiscard]] std::shared_ptr<const filter> read(const filter_source& from, matcher_reader&,
                                                   const field_path& at) const override {
    return filter_of(parsed<wire::StatefulSession>(from, at), at);
  }
  [[nodiscard]] std::shared_ptr<const filter> read_override(const filter_source& from, matcher_reader&,
                                                            const field_path& at) const override {
    const auto message = parsed<wire::StatefulSessionPerRoute>(from, at);
    if (!message.has_stateful_session()) return nullptr;
    return filter_of(message.stateful_session(), at.at("stateful_session"));
  }

 private:
  [[nodiscard]] static std::shared_ptr<const filter> filter_of(const wire::StatefulSession& from,
                                                               const field_path& at) {
    constexpr std::string_view by_cookie =
        "envoy.extensions.http.stateful_session.cookie.v3.CookieBasedSessionState";
    if (!from.has_session_state()) return nullptr;
    const google::protobuf::Any& state = from.session_state().typed_config();
    const field_path here = at.at("session_state");
    if (type_of(state) != by_cookie)
      here.refuse("is of the type " + base::printable(type_of(state)) + ", which is not supported");
    const auto cookie = unpacked<wire::CookieBasedSessionState>(state, here.at("typed_config"));
    if (!cookie.has_cookie()) here.at("cookie").refuse("is not set");
    return std::make_shared<const stateful_session>(cookie.cookie(), here.at("cookie"));
  }
};

}  // namespace

std::shared_ptr<const filter_type> stateful_session_filter() {
  return std::make_shared<const stateful_session_type>();
}

}  // namespace coracle::xds
