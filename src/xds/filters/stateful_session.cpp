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

  // gRFC A60 has "cluster:" before the name. gRPC's C core writes and reads the name alone, and so do we, as
  // the sessions of its clients are ours too; the other form is read as well.
  [[nodiscard]] bool is_of(std::string_view name) const noexcept {
    constexpr std::string_view prefix = "cluster:";
    return cluster == name || (cluster.starts_with(prefix) && cluster.substr(prefix.size()) == name);
  }
};

// "10.0.0.1:80,[fd00::1]:80;name". What cannot be read is left out.
session read_session(std::string_view text) {
  session to;
  const auto semicolon = text.find(';');
  std::string_view addresses = text.substr(0, semicolon);
  if (semicolon != text.npos) to.cluster = text.substr(semicolon + 1);
  // A name of a scope would be looked up.
  if (addresses.find('%') != addresses.npos) return to;
  for (std::size_t i = 0; !addresses.empty() && i < limits::addresses_per_endpoint_max; ++i) {
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

// What a cookie is made of.
struct cookie_form {
  std::string name;
  std::string path;
  std::string attributes;
};

// Tells the caller which server its session is on, unless it has said so itself.
class cookie_setter final : public response_filter {
 public:
  cookie_setter(std::shared_ptr<const cookie_form> form, session known, std::string_view known_cluster)
      : form_(std::move(form)), known_(std::move(known.server)), known_cluster_(known_cluster) {}

  void headers_received(metadata& received, const std::vector<net::address>& addresses,
                        std::string_view cluster) const override {
    if (known_cluster_ == cluster && known_ == addresses) return;
    std::string value;
    for (const net::address& a : addresses) value.append(value.empty() ? "" : ",").append(a.to_string());
    value.append(";").append(cluster);
    received.add("set-cookie", form_->name + "=" + base::padded_base64(value) + form_->attributes);
  }

 private:
  const std::shared_ptr<const cookie_form> form_;
  const std::vector<net::address> known_;
  const std::string known_cluster_;
};

// RFC 9110 5.6.2
bool is_token(std::string_view text) {
  constexpr std::string_view others = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::ranges::all_of(text, [&](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           others.find(c) != others.npos;
  });
}

cookie_form form_of(const wire::Cookie& from, const field_path& at) {
  cookie_form to{from.name(), from.path(), "; HttpOnly"};
  if (to.name.empty()) at.at("name").refuse("must not be empty");
  if (!is_token(to.name) || to.name.size() > limits::cookie_name_bytes_max)
    at.at("name").refuse("must be a token of at most " + std::to_string(limits::cookie_name_bytes_max) +
                         " bytes");
  const auto is_odd = [](char c) { return c < ' ' || c > '~' || c == ';'; };
  if (to.path.size() > limits::cookie_path_bytes_max || std::ranges::any_of(to.path, is_odd))
    at.at("path").refuse("must be printable, without \";\", and have at most " +
                         std::to_string(limits::cookie_path_bytes_max) + " bytes");
  if (!to.path.empty()) to.attributes.append("; Path=").append(to.path);
  if (from.has_ttl()) {
    const duration ttl = duration_of(from.ttl(), at.at("ttl"));
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(ttl).count();
    if (seconds > 0) to.attributes.append("; Max-Age=").append(std::to_string(seconds));
  }
  return to;
}

class stateful_session final : public filter {
 public:
  explicit stateful_session(cookie_form form) : form_(std::make_shared<const cookie_form>(std::move(form))) {}

  void begin_call(filtered_call& call) const override {
    filtered_route& route = call.route();
    if (!is_within(route.request.path, form_->path)) return;
    std::string text;
    const auto cookie = find_cookie(route.sent, form_->name);
    if (cookie && !base::base64_decode(*cookie, text)) text.clear();
    session known = read_session(text);
    std::string_view cluster;
    for (const weighted_cluster& c : route.action.clusters) {
      if (known.server.empty() || !known.is_of(c.name) || (!cluster.empty() && known.cluster != c.name))
        continue;
      route.cluster = &c;
      cluster = c.name;
    }
    call.prefer(known.server);
    call.add(std::make_unique<const cookie_setter>(form_, std::move(known), cluster));
  }
  [[nodiscard]] bool has_sessions() const noexcept override { return true; }

 private:
  const std::shared_ptr<const cookie_form> form_;
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
    return std::make_shared<const stateful_session>(form_of(cookie.cookie(), here.at("cookie")));
  }
};

}  // namespace

std::shared_ptr<const filter_type> stateful_session_filter() {
  return std::make_shared<const stateful_session_type>();
}

}  // namespace coracle::xds
