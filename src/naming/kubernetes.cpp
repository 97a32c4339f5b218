#include "base/printable.hpp"
#include "coracle/coro/sleep.hpp"
#include "coracle/naming/with_kubernetes.hpp"
#include "coracle/net/file.hpp"
#include "coracle/runtime/loop.hpp"
#include "naming/endpoint_slices.hpp"
#include "naming/http_api.hpp"
#include "naming/secrets.hpp"
#include "naming/watched_names.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <utility>

namespace coracle::naming {

namespace {

constexpr int version_gone = 410;
constexpr duration list_timeout = std::chrono::seconds(30);
// A watch ends after this time, as those of client-go do; another one follows.
constexpr int watch_seconds = 300;
constexpr duration watch_grace = std::chrono::seconds(30);
// A watch in which no byte comes for this time is begun anew: its connection may have been lost without a
// word, and bookmarks come about once a minute.
constexpr duration watch_silence = std::chrono::seconds(90);
// A watch that ends sooner and without an event is a failure, after which there is a pause.
constexpr duration watch_time_min = std::chrono::seconds(1);
// Tokens have about 1 KiB.
constexpr std::size_t token_bytes_max = 64 << 10;

struct kubernetes_target {
  std::string service;
  std::string space;  // empty: that of the pod
  wanted_port port;
};

// Names of Kubernetes are labels of DNS (RFC 1123), those of ports IANA_SVC_NAME.
bool is_label(std::string_view text) noexcept {
  return !text.empty() && text.size() <= 63 && text.front() != '-' && text.back() != '-' &&
         std::ranges::all_of(
             text, [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; });
}

result<kubernetes_target> parse_kubernetes(const client::target& of) {
  const auto wrong = [&](std::string_view why) {
    return status::invalid_argument("\"" + base::printable(of.text()) + "\" " + std::string(why) +
                                    ": write kubernetes:///service.namespace:port");
  };
  if (!of.authority().empty()) return wrong("names a host");
  std::string_view name = of.endpoint();
  kubernetes_target t;
  if (const std::size_t colon = name.find(':'); colon != name.npos) {
    const std::string_view port = name.substr(colon + 1);
    const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), t.port.number);
    const bool numeric = error == std::errc() && end == port.data() + port.size() && t.port.number != 0;
    if (!numeric) t.port = {0, std::string(port)};
    if (!numeric && (!is_label(port) || error == std::errc::result_out_of_range))
      return wrong("has an invalid port");
    name = name.substr(0, colon);
  }
  const std::size_t dot = name.find('.');
  t.service = name.substr(0, dot);
  if (dot != name.npos) t.space = name.substr(dot + 1);
  // As DNS names services: "movies.films.svc", "movies.films.svc.cluster.local".
  if (const std::size_t end = t.space.find('.'); end != t.space.npos) {
    const std::string_view rest = std::string_view(t.space).substr(end);
    if (rest == ".svc" || rest.starts_with(".svc.")) t.space.resize(end);
  }
  if (!is_label(t.service) || (dot != name.npos && !is_label(t.space)))
    return wrong("is not the name of a service");
  return t;
}

class kubernetes_source final : public name_source {
 public:
  kubernetes_source(kubernetes_target of, std::shared_ptr<const kubernetes_options> options)
      : of_(std::move(of)), options_(std::move(options)), slices_(of_.port, options_->zone) {}

  task<status> follow(list_sink& to) override {
    const status ready = co_await prepare();
    if (!ready.ok()) co_return ready;
    for (;;) {
      if (slices_.version().empty()) {
        const status listed = co_await list();
        if (!listed.ok()) co_return listed;
        report(to);
      }
      const status watched = co_await watch(to);
      if (!watched.ok()) co_return watched;
    }
  }

 private:
  // An event moves one slice, and a list takes all of them: it is made when it is used.
  void report(list_sink& to) {
    to.changed([this] { return slices_.servers(); });
  }

  // What needs to be done once.
  task<status> prepare() {
    if (api_) co_return ok;
    if (of_.space.empty()) {
      const result<std::string> space = co_await read_line(options_->namespace_file);
      if (!space) co_return space.status();
      if (!is_label(*space))
        co_return status::failed_precondition(options_->namespace_file + " has no namespace");
      of_.space = *space;
    }
    std::string server = options_->api_server;
    if (server.empty()) {
      const char* const host = std::getenv("KUBERNETES_SERVICE_HOST");
      const char* const port = std::getenv("KUBERNETES_SERVICE_PORT");
      if (!host || !port)
        co_return status::failed_precondition(
            "this program does not run in a pod: set kubernetes_options::api_server");
      const bool v6 = std::string_view(host).find(':') != std::string_view::npos;
      server = (v6 ? "[" + std::string(host) + "]" : std::string(host)) + ":" + port;
    }
    if (!options_->token_file.empty() && !may_send_secret(options_->credentials, server))
      co_return status::failed_precondition(
          "the token of the service account is not sent to " + base::printable(server) +
          " in plaintext: set kubernetes_options::credentials to tls::client_options, or token_file to \"\"");
    api_.emplace(server, options_->credentials);
    co_return ok;
  }

  static task<result<std::string>> read_line(const std::string& path) {
    result<std::string> text = co_await net::read_file(path, token_bytes_max);
    if (text)
      while (!text->empty() && (text->back() == '\n' || text->back() == ' ')) text->pop_back();
    co_return text;
  }

  task<result<http_request>> make_request() {
    http_request r("apis/discovery.k8s.io/v1/namespaces/" + of_.space + "/endpointslices");
    r.set("labelSelector", "kubernetes.io/service-name=" + of_.service);
    r.header("accept", "application/json");
    if (!options_->token_file.empty()) {
      const result<std::string> token = co_await read_line(options_->token_file);
      if (!token) co_return token.status();
      r.header("authorization", "Bearer " + *token);
    }
    co_return r;
  }

  // By the code of the response.
  [[nodiscard]] static bool has_begun(int code) noexcept { return code / 100 == 2; }
  // Whether the next watch can begin at the same version. Other refusals may be of the version itself, such
  // as "Too large resource version" (504) after a restore of the server's data: only a list is sure.
  [[nodiscard]] static bool keeps_version(int code) noexcept {
    return code == 0 || has_begun(code) || code == 401 || code == 403 || code == 429;
  }

  [[nodiscard]] status explain(const status& failed) {
    const int code = api_->head().code;
    std::string text = "the API server: " + std::string(failed.message());
    if (code == 401) text += ". It does not accept the token in " + options_->token_file;
    if (code == 403) text += ". The service account needs the verbs get, list and watch of endpointslices";
    return status::unavailable(text);
  }

  task<status> list() {
    slices_.begin_list();
    std::string next;
    do {
      result<http_request> r = co_await make_request();
      if (!r) co_return r.status();
      r->set("limit", std::to_string(endpoint_slices::page_slices)).set("continue", next);
      const result<std::string> page = co_await api_->get(*r, list_timeout);
      if (!page) co_return explain(page.status());
      result<std::string> added = slices_.add_page(*page);
      if (!added) co_return added.status();
      next = *std::move(added);
    } while (!next.empty());
    fresh_ = true;
    co_return ok;
  }

  // OK: the watch has ended as watches do, or its version has expired.
  task<status> watch(list_sink& to) {
    const time_point begun = loop::current()->now();
    result<http_request> r = co_await make_request();
    if (!r) co_return r.status();
    r->set("watch", "1").set("allowWatchBookmarks", "true").set("resourceVersion", slices_.version());
    r->set("timeoutSeconds", std::to_string(watch_seconds));
    http_api::body_stream events = api_->stream(*r, std::chrono::seconds(watch_seconds) + watch_grace);
    std::string text;
    std::size_t searched = 0;  // no line ends before
    bool any = false;
    for (;;) {
      const result<std::optional<std::string>> piece = co_await events.next(watch_silence);
      if (!piece.ok()) {
        const int code = api_->head().code;
        if (!keeps_version(code)) slices_.expire();
        if (code == version_gone) co_return expired();
        if (has_begun(code) && piece.status().code() == status_code::deadline_exceeded) break;  // silence
        co_return explain(piece.status());
      }
      if (!piece->has_value()) break;
      text += **piece;
      std::size_t begin = 0;
      bool changed = false;
      for (std::size_t end; (end = text.find('\n', std::max(begin, searched))) != text.npos;
           begin = end + 1) {
        const result<endpoint_slices::change> made =
            slices_.apply(std::string_view(text).substr(begin, end - begin));
        if (!made || *made == endpoint_slices::change::expired) {
          // What has been applied stays; a broken event may be followed by others: only a list is sure.
          slices_.expire();
          if (changed) report(to);
          co_return made ? expired() : made.status();
        }
        fresh_ = false;
        any = true;
        changed = changed || *made == endpoint_slices::change::servers;
      }
      text.erase(0, begin);
      searched = text.size();
      if (changed) report(to);
      if (text.size() > document_bytes_max)
        co_return status::resource_exhausted("the watch of EndpointSlices has an event of more than " +
                                             std::to_string(document_bytes_max) + " bytes");
    }
    fresh_ = false;
    if (loop::current()->now() - begun >= watch_time_min) co_return ok;
    if (!any) co_return status::unavailable("the API server ended the watch at once");
    co_await sleep_for(watch_time_min);
    co_return ok;
  }

  // A list follows at once, unless the version that has expired is that of a list.
  [[nodiscard]] status expired() const {
    if (!fresh_) return ok;
    return status::unavailable("the API server does not know the version of its own list");
  }

  kubernetes_target of_;
  const std::shared_ptr<const kubernetes_options> options_;
  endpoint_slices slices_;
  std::optional<http_api> api_;
  bool fresh_ = false;  // the version is that of a list
};

std::string kubernetes_authority(const client::target& of) {
  const result<kubernetes_target> t = parse_kubernetes(of);
  if (!t) return "localhost";
  return t->space.empty() ? t->service : t->service + "." + t->space + ".svc";
}

}  // namespace

}  // namespace coracle::naming

namespace coracle {

void with_kubernetes(channel_options& to, kubernetes_options options) {
  auto shared = std::make_shared<const kubernetes_options>(std::move(options));
  naming::add_scheme(to, "kubernetes", naming::kubernetes_authority,
                     [shared](const client::target& of) -> result<std::unique_ptr<naming::name_source>> {
                       result<naming::kubernetes_target> t = naming::parse_kubernetes(of);
                       if (!t) return t.status();
                       return std::make_unique<naming::kubernetes_source>(*std::move(t), shared);
                     });
}

}  // namespace coracle
