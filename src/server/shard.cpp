#include "server/shard.hpp"
#include "server/call/server_observer_group.hpp"

#include "base/heap.hpp"
#include "base/hot_and_cold.hpp"
#include "base/if_memory_allows.hpp"
#include "coracle/coro/with_timeout.hpp"
#include "coracle/rpc/impl/propagated_context.hpp"
#include "coracle/runtime/offload.hpp"
#include "coracle/server/load_reporter.hpp"
#include "coro/post_function.hpp"
#include "http/date.hpp"
#include "net/duplex.hpp"
#include "protocol/grpc/request_headers.hpp"
#include "rpc/channel_registry.hpp"
#include "runtime/backend.hpp"
#include "runtime/memory_limit.hpp"
#include "runtime/repeated_lines.hpp"
#include "server/admission/rejection.hpp"
#include "server/call/refusal.hpp"
#include "server/call/server_call.hpp"
#include "server/http/http_call.hpp"
#include "server/repeated_requests.hpp"
#include "server/router.hpp"
#include "server/server_instruments.hpp"
#include "server/server_state.hpp"
#include "server/web/direct_response.hpp"
#include "server/web/rest_error.hpp"
#include "server/web/web_call.hpp"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <new>
#include <span>
#include <string>
#include <utility>
#include <variant>

namespace coracle::server_internal {

namespace {

// The maximum of orphaned calls, whose clients have reset them or let them expire while their handlers still
// run: of a loop, and of one connection, which reaches its limit well before that. HTTP/2's limit of open
// streams does not include them (CVE-2023-44487 and related attacks), and each handler holds the memory that
// it has allocated.
constexpr std::size_t orphaned_calls_max = 10'000;
constexpr std::size_t orphaned_calls_of_connection_max = 1'000;

// The fraction of the quota (1/64) that kept messages of all loops of a server may take.
constexpr std::size_t kept_messages_share = 64;

std::size_t share_of(std::size_t all, std::size_t loops) noexcept { return all / loops + (all % loops != 0); }

// The minimum progress of a message that has begun; even the slowest line delivers more.
std::size_t min_bytes_in(duration d) noexcept {
  constexpr std::int64_t bytes_per_second = 256;
  return static_cast<std::size_t>(
      std::max<std::int64_t>(d / std::chrono::milliseconds(1) * bytes_per_second / 1000, 1));
}

CORACLE_COLD status bad_timeout() { return status::internal("grpc-timeout is malformed"); }
CORACLE_COLD status bad_metadata() { return status::internal("a -bin metadata value is not valid base64"); }

}  // namespace

shard::shard(std::shared_ptr<server_state> server, loop& owner_loop)
    : call_set(owner_loop),
      server_(std::move(server)),
      loop_(owner_loop),
      quota_(server_->memory.usage_),
      pressure_timer_(*this),
      rate_log_(owner_loop, "rate limits have") {
  accepted = server_->options.accepted_encodings.common(encoding_set::all());
  max_receive_bytes = server_->options.max_receive_bytes;
  max_send_bytes = server_->options.max_send_bytes;
  compression = server_->options.compression;
  max_criticality = server_->options.max_criticality;
  interceptors = &server_->interceptors;
  cost_trailers = server_->options.cost_trailers;
  if (cost_trailers) measured_calls = 1;
  if (const auto& reporter = server_->options.load)
    load = &load_.emplace(reporter->sources(), server_->options.load_trailers);
  stall_time = server_->options.limits.stall_time;
  stall_bytes = min_bytes_in(stall_time);
  orphaned_bytes_max = share_of(quota_->limit / 4, loop_.owner().size());
  messages.limit(share_of(quota_->limit / kept_messages_share, loop_.owner().size()), quota_->used);
}

shard::~shard() {
  CORACLE_ASSERT(connections_.empty() && count == 0,
                 "a shard was destroyed before its calls and connections");
  if (pressure_timer_.holder) loop_.disarm(pressure_timer_);
  messages.release();  // accounted in the quota, which is destroyed first
  server_->forget(loop_);
}

void shard::listen(opened_socket socket, std::shared_ptr<security::server_security> security) {
  if (draining_ || shutting_down_ || closes_listeners_) return;
  listeners_.push_back(std::make_unique<server_listener>(
      std::move(socket), *server_,
      [this, security = std::move(security)](runtime_internal::handle h) { server_->accepted(h, security); },
      [this](server_listener& e) {
        shard& self = *this;  // this function is destroyed with the entrance
        std::erase_if(self.listeners_, [&](const auto& p) { return p.get() == &e; });
        self.notify_listeners_closed();
        self.finish_if_empty();
      }));
}

// Before the first connection: a server may get observers until then.
CORACLE_COLD void shard::use_observers() {
  std::vector<server_observer*> all;
  for (const auto& o : server_->observers) all.push_back(&o->on_loop(loop_, server_->routes.size()));
  if (all.size() > 1) observers_ = group_of(all);
  observer = observers_ ? observers_.get() : all.front();
  observes_progress = observer->wants_progress();
  unregistered_index = server_->routes.size();
}

// Before the first connection, when all methods are known, and later if they change.
CORACLE_COLD void shard::use(std::shared_ptr<const live_options> now) {
  const std::optional<admission_options>& limited = now->admission;
  if (limited && admission_) admission_->set_bounds(*limited);
  else if (limited) admission_.emplace(loop_, *limited, server_->routes.size() + 1);
  live_ = std::move(now);  // nothing fails from here on
  rates_ = live_->rates.get();
  if (rates_) rates_->seed(loop_.io().random());
  // With it, each call is one to look at; without it, the next that is measured.
  if (limited.has_value() != (admission != nullptr)) until_extras = extras_until_measured = 1;
  admission = limited ? &*admission_ : nullptr;
  limits_calls_ = rates_ || admission;
  unregistered_index = server_->routes.size();
  call_time_ = live_->limits.call_time;
  calls_max_ = live_->limits.calls;
  const bool counts = calls_max_ != server_limits{}.calls;
  // The calls that run have begun with the other one, and end with this.
  if (counts && !of_server) server_->calls.fetch_add(count, std::memory_order_relaxed);
  if (!counts && of_server) server_->calls.fetch_sub(count, std::memory_order_relaxed);
  of_server = counts ? &server_->calls : nullptr;
}

void shard::reload(const std::shared_ptr<const live_options>& now) noexcept {
  if (!live_ || base::if_memory_allows([&] { use(now); })) return;
  loop_.log().write(log_room::server, log_level::error,
                    "a loop keeps the former limits of the server: the process is out of memory");
}

void shard::adopt(std::unique_ptr<net::duplex> stream) {
  if (draining_ || shutting_down_) {  // the stream's destructor closes the connection
    --server_->load_of(loop_);
    return;
  }
  if (!observer && !server_->observers.empty()) use_observers();
  if (!live_) use(server_->live());
  transport::connection_options rules = live_->rules;
  rules.age.max_age = jittered(rules.age.max_age, loop_.io().random());
  auto made = std::make_unique<transport::connection>(loop_, std::move(stream), transport::role::server,
                                                      rules, static_cast<transport::connection_owner&>(*this),
                                                      static_cast<transport::request_acceptor*>(this));
  transport::connection& c = *made;
  const auto at = connections_.emplace(&c, served{std::move(made), rpc::channel_registry::next_id()}).first;
  quota_->connections.fetch_add(1, std::memory_order_relaxed);
  try {
    // A connection keeps an address once it has been queried: query it only for a line that is written.
    if (loop_.log().is_enabled(log_room::server, log_level::debug))
      loop_.log().in(log_room::server).debug("a connection of ", c.peer_address(), " was accepted");
    c.start();
  } catch (const std::bad_alloc&) {
    quota_->connections.fetch_sub(1, std::memory_order_relaxed);
    connections_.erase(at);
    throw;
  }
}

const transport::http1_options* shard::http1() const noexcept { return &live_->http1; }

void shard::note_refused_connection() noexcept {
  base::if_memory_allows([&] {
    repeated_lines::write(loop_, log_room::server, log_level::warning, this, "refused",
                          "a connection was refused: the process is out of memory");
  });
}

// At the level of failed handshakes of TLS: scanners cause such lines, too.
void shard::on_other_protocol(transport::connection& c, std::string_view reason) noexcept {
  if (!loop_.log().is_enabled(log_room::server, log_level::info)) return;
  base::if_memory_allows([&] {
    repeated_lines::write(
        loop_, log_room::server, log_level::info, this, reason,
        "a connection of " + c.peer_address().to_string() + " was closed: " + std::string(reason));
  });
}

// RFC 9110 6.6.1: a server with a clock sends Date.
std::span<const http::header_view> shard::general_fields(transport::connection& c) noexcept {
  if (loop_.now() >= date_ends_) {
    const auto now = loop_.wall_now();
    const auto second = std::chrono::floor<std::chrono::seconds>(now);
    if (!base::if_memory_allows([&] { date_ = http::format_date(second); })) return {};
    date_ends_ = loop_.now() + std::chrono::duration_cast<duration>(second + std::chrono::seconds(1) - now);
  }
  general_fields_[0] = {"date", date_};
  general_fields_[1] = {"strict-transport-security", server_->access.strict_transport_security()};
  return std::span(general_fields_, c.auth() && !general_fields_[1].value.empty() ? 2 : 1);
}

CORACLE_HOT void shard::on_request(transport::exchange x, transport::header_source& fields, bool end_stream) {
  if (repeated_request* const known = repeated_requests::find(x.cached_headers().get(), fields.number())) {
    std::span<const transport::varying_field> varying;
    if (fields.read_varying(varying)) {
      if (!fields.ok()) return x.release();
      if (varying.empty()) return begin_call(x, known->request, nullptr, known->received, end_stream);
      return begin_repeated_call(x, *known, varying, end_stream);
    }
  }
  request_info r;
  received_metadata received = take_metadata();
  protocol::grpc::request_reader reader(server_->routes, r, received.own(), &x.authority());
  if (!reader.read(fields)) return x.release();
  if (r.route_index != r.none) r.row = &server_->routes.at(r.route_index);
  if (r.subtype_index != r.none) r.subtype = &server_->routes.subtypes.at(r.subtype_index);
  auto fallback = server_->routes.fallback_call_of(r);
  if (r.type != request_info::content::grpc || r.method != request_info::verb::post || x.has_target())
    return on_other_request(x, r, std::move(received), end_stream);
  const call_request request = r.to_call();
  if (!r.row) return refuse(x, request, status::unimplemented("the server has no such method"));
  if (server_->access.restricts_hosts() && !server_->access.permits_host(x, r.authority(), false))
    return refuse(x, request,
                  status::permission_denied(
                      "the server does not answer to this :authority (see web_options::allowed_hosts)"));
  if (r.unknown_encoding)
    return refuse(x, request, status::unimplemented("the server does not accept this grpc-encoding"),
                  accepted);
  if (r.bad_timeout) return refuse(x, request, bad_timeout());
  if (r.bad_metadata) return refuse(x, request, bad_metadata());
  if (!fallback && fields.number() != 0)
    base::if_memory_allows([&] { repeated_requests::keep(x.cached_headers(), fields, request, received); });
  begin_call(x, request, std::move(fallback), std::move(received), end_stream);
}

void shard::begin_repeated_call(transport::exchange x, repeated_request& known,
                                std::span<const transport::varying_field> varying, bool end_stream) {
  if (!known.take_timeout(varying)) return refuse(x, known.request, bad_timeout());
  if (!repeated_request::has_metadata(varying))
    return begin_call(x, known.request, nullptr, known.received, end_stream);
  received_metadata received = take_metadata();
  if (!known.copy_metadata(varying, received.own())) return refuse(x, known.request, bad_metadata());
  begin_call(x, known.request, nullptr, std::move(received), end_stream);
}

CORACLE_COLD void shard::on_other_request(transport::exchange x, request_info& r, received_metadata received,
                                          bool end_stream) {
  const auto is_rest = [&] {
    return server_->http.has_rest() && may_be_rest(r, received.get(), server_->routes);
  };
  const auto answer = [&](direct_response response) {
    if (is_rest()) use_rest_form(response, received.get());
    respond(x, r, response, end_stream);
  };
  if (!server_->access.permits_host(x, r.authority(), x.is_http1()))
    return answer({421, "the server does not answer to this host (see web_options::allowed_hosts)\n"});
  if (r.type == request_info::content::grpc && x.is_http1())
    return answer({505, "gRPC requires HTTP/2; gRPC-Web and Connect work over HTTP/1.1, too\n"});
  auto origin = server_->access.decide(x, r, received.get());
  using protocol::cors_verdict;
  if (origin.verdict == cors_verdict::refused)
    return answer({403, "pages of this origin may not call (see web_options::allowed_origins)\n"});
  if (origin.verdict == cors_verdict::preflight) return answer({204, {}, std::move(origin.preflight)});
  auto web = prepare_web_call(x, r, received, {server_->routes, server_->http, *this, server_->options.web},
                              end_stream);
  if (!web) web = response_without_route(r, server_->routes, server_->options.web, x.is_http1(), is_rest());
  if (auto* const response = std::get_if<direct_response>(&*web)) {
    response->permission = std::move(origin.fields);
    return answer(std::move(*response));
  }
  if (const auto* const plain = std::get_if<plain_request>(&*web))
    return begin_http_call(x, r, *plain, std::move(received), std::move(origin.fields), end_stream);
  auto& call = std::get<web_call>(*web);
  call.translator->set_cross_origin(std::move(origin.fields));
  if (!call.refusal.ok()) return refuse(call.exchange, call.request, call.refusal, accepted);
  bool destroyed = false;
  if (call.whole) call.whole->watch(&destroyed);
  begin_call(call.exchange, call.request, std::move(call.fallback), std::move(call.received),
             end_stream && !call.whole);
  if (!call.whole || destroyed) return;
  call.whole->watch(nullptr);
  if (call.message) call.whole->deliver(as_bytes(*call.message));
}

namespace {

// A separate function, so that begin_call() saves no registers for it.
CORACLE_COLD status at_call_limit(std::size_t limit) {
  return status::unavailable("server_limits::calls exceeded, limit " + std::to_string(limit));
}

}  // namespace

void shard::begin_http_call(transport::exchange x, request_info& r, const plain_request& plain,
                            received_metadata received, std::unique_ptr<cross_origin> permission,
                            bool end_stream) {
  std::string reason;
  if (orphaned >= orphaned_calls_max || x.orphaned_calls() >= orphaned_calls_of_connection_max)
    reason = "too many orphaned calls: their handlers still run after the calls ended";
  else if (!admit()) reason = at_call_limit(calls_max_).message();
  if (!reason.empty()) {
    log_rejection(reason);
    return respond(x, r, {503, reason + "\n", {}, std::move(permission)}, end_stream);
  }
  http_call* call = nullptr;
  try {
    // The call owns itself.
    call = new http_call(x, *plain.route, plain.match, r, std::move(received), std::move(permission), *this);
  } catch (const std::bad_alloc&) {
    unadmit();
    throw;
  }
  call->begin(end_stream);
}

void shard::begin_call(transport::exchange x, const call_request& r, std::unique_ptr<fallback_call> fallback,
                       received_metadata received, bool end_stream) {
  if (orphaned >= orphaned_calls_max || x.orphaned_calls() >= orphaned_calls_of_connection_max) {
    measure_rejection("orphaned_calls");
    return reject(x, r,
                  status::resource_exhausted(
                      "too many orphaned calls: their handlers still run after the calls ended"));
  }
  if (r.timeout <= duration::zero())
    return refuse(x, r, status::deadline_exceeded("the deadline had passed before the call began"));
  const duration timeout = std::min(r.timeout, call_time_);
  const time_point deadline = timeout == duration::max() ? never : deadline_after(loop_.now(), timeout);
  bool tried = false;
  if (limits_calls_ && r.row->is_limited) [[unlikely]] {
    if (!permits(x, r, r.row->index_or(unregistered_index), received.get(), deadline, tried)) return;
  }
  if (!admit()) return reject(x, r, at_call_limit(calls_max_));
  server_call* call = nullptr;
  try {
    // The call owns itself.
    call = new server_call(x, r, deadline, std::move(fallback), std::move(received), *this);
  } catch (const std::bad_alloc&) {
    unadmit();
    throw;
  }
  ++calls_started_;
  if (tried) [[unlikely]]
    call->permit_late();
  call->begin(end_stream);
}

// If there is no limit, the loops share no counter.
bool shard::admit() noexcept {
  if (!of_server) return true;
  if (of_server->fetch_add(1, std::memory_order_relaxed) < calls_max_) return true;
  unadmit();
  measure_rejection("calls");
  return false;
}

void shard::unadmit() noexcept {
  if (of_server) of_server->fetch_sub(1, std::memory_order_relaxed);
}

CORACLE_COLD void shard::reject(transport::exchange x, const call_request& request, const status& reason) {
  log_rejection(reason.message());
  refuse(x, request, reason);
}

// Costs little, because an overloaded server rejects often.
CORACLE_COLD bool shard::permits(transport::exchange x, const call_request& request, std::uint32_t method,
                                 const metadata& received, time_point deadline, bool& tried) {
  if (rates_) {
    const rate_limits::refusal r = rates_->take(method, {x.peer_address(), x.auth(), received}, loop_.now());
    if (r.why) {
      rate_log_.count(*r.why, x.peer_address());
      refuse(x, request, *r.why, r.wait_ms(loop_.io().random()));
      return false;
    }
  }
  if (!admission) return true;
  const criticality level = rpc::criticality_of(received, max_criticality);
  const std::uint64_t client = admission_->client_of(x.peer_address(), x.auth());
  const auto verdict = admission_->check(method, level, client, deadline);
  tried = verdict == admission_gate::verdict::tried;
  if (verdict == admission_gate::verdict::permitted || tried) return true;
  const rejection& r =
      verdict == admission_gate::verdict::too_late ? rejection::too_late() : rejection::overloaded();
  refuse(x, request, r, admission_->count_rejection(level, r, x.peer_address()));
  return false;
}

void shard::log_rejection(std::string_view reason) {
  repeated_lines::write(loop_, log_room::server, log_level::warning, this, reason,
                        "calls are rejected: " + std::string(reason));
}

void shard::on_closed(transport::connection& c) noexcept {
  last_call_started_ = std::max(last_call_started_, c.stats().last_stream_started);
  const auto it = connections_.find(&c);
  bytes_sent_before_ += c.bytes_sent();
  bytes_received_before_ += c.bytes_received();
  quota_->used.fetch_sub(it->second.bytes, std::memory_order_relaxed);
  quota_->connections.fetch_sub(1, std::memory_order_relaxed);
  --server_->load_of(loop_);
  if (loop_.log().is_enabled(log_room::server, log_level::debug))
    loop_.log()
        .in(log_room::server)
        .debug("a connection of ", c.peer_address(), " has ended: ", c.end_reason());
  connections_.erase(it);
  finish_if_empty();
}

// --- ending

// `f` removes no connection from the map: on_closed() comes at the end of the loop iteration.
template <class F>
void shard::for_each_connection(F f) noexcept {
  std::vector<std::pair<std::uint64_t, transport::connection*>> numbered;
  if (!base::if_memory_allows([&] { numbered.reserve(connections_.size()); })) {
    for (const auto& [c, s] : connections_) f(*c);
    return;
  }
  for (const auto& [c, s] : connections_) numbered.emplace_back(s.id, c);
  std::sort(numbered.begin(), numbered.end());
  for (const auto& [number, c] : numbered) f(*c);
}

void shard::close_listeners(close_watch& w) noexcept {
  closes_listeners_ = true;
  close_watches_.push_back(w);
  for (const auto& e : listeners_) e->close();
  notify_listeners_closed();
}

void shard::notify_listeners_closed() noexcept {
  if (!listeners_.empty()) return;
  while (close_watch* const w = close_watches_.pop_front()) w->listeners_closed();
}

void shard::begin_goaways() noexcept {
  get_goaway_.clear();
  got_goaway_ = 0;
  base::if_memory_allows([&] {
    get_goaway_.reserve(connections_.size());
    // One in memory has no address; its client is in this process.
    for (const auto& [c, s] : connections_)
      if (c->peer_address().kind() != net::address::family::none) get_goaway_.emplace_back(s.id, c);
  });
  std::sort(get_goaway_.begin(), get_goaway_.end());
}

void shard::send_goaways(std::size_t part, std::size_t parts) noexcept {
  const std::size_t until = get_goaway_.size() * part / parts;
  for (; got_goaway_ < until; ++got_goaway_) {
    const auto [id, c] = get_goaway_[got_goaway_];
    const auto at = connections_.find(c);
    if (at != connections_.end() && at->second.id == id) c->drain();
  }
}

void shard::begin_drain() noexcept {
  if (std::exchange(draining_, true)) return;
  for (const auto& e : listeners_) e->close();
  for_each_connection([](transport::connection& c) { c.drain(); });
  draining.request_stop();
  for (const auto& f : std::exchange(at_drain_, {})) f();
  finish_if_empty();
}

void shard::when_draining(std::function<void()> f) {
  if (draining_) f();
  else at_drain_.push_back(std::move(f));
}

void shard::end_connections(const std::function<bool(const void*)>& which, bool at_once) noexcept {
  for_each_connection([&](transport::connection& c) {
    if (!c.mark() || !which(c.mark().get())) return;
    if (at_once) c.close(transport::error_code::no_error, "the control plane has changed its configuration");
    else c.drain();
  });
}

task<> shard::wait_until_empty() { co_await empty_; }

task<> shard::drain(duration grace) {
  begin_drain();
  if (empty_.is_set()) co_return;
  task<> all_gone = wait_until_empty();
  with_timeout<void> limited(grace, std::move(all_gone));
  const status in_time = co_await limited;
  if (in_time.ok()) co_return;
  cancel_all();
  co_await empty_;
}

void shard::cancel_all() noexcept {
  begin_drain();
  // Calls end one by one and unlink themselves, some of them inside this loop.
  base::intrusive_list<server_call> ending;
  ending.take(running);
  while (server_call* c = ending.pop_front()) {
    running.push_back(*c);
    c->cancel(status::unavailable("the server is shutting down"));
  }
  for_each_connection([](transport::connection& c) {
    c.close(transport::error_code::no_error, "the server is shutting down");
  });
}

void shard::begin_shutdown() noexcept {
  shutting_down_ = true;
  cancel_all();
  finish_if_empty();
}

CORACLE_COLD void shard::finish_if_empty() noexcept {
  if (!draining_ || !connections_.empty() || !listeners_.empty() || count != 0) return;
  if (!empty_.is_set()) empty_.set();
  if (shutting_down_ && !std::exchange(shutdown_reported_, true)) shutdown_finished();
}

// --- the shard's part of the memory quota

namespace {

constexpr duration pressure_check_interval = std::chrono::milliseconds(50);
constexpr duration heap_check_interval = std::chrono::seconds(1);

// The last eighth is for memory that is in use and not counted: replies that are being written, fragmentation
// of the heap.
constexpr std::size_t closing_bytes(std::size_t limit) noexcept { return limit / 8 * 7; }
constexpr std::size_t pressing_bytes(std::size_t limit) noexcept { return limit / 8 * 5; }
// After a pressure the heap keeps what was freed, until little is used again.
constexpr std::size_t low_bytes(std::size_t limit) noexcept { return limit / 8; }

task<> shrink_heap() {
  auto wait = offload(&base::give_back_heap);
  try {
    co_await std::move(wait);
  } catch (const status_error&) {  // there is no thread for it now
  }
}

}  // namespace

shard::pressure_timer::pressure_timer(shard& s) noexcept : of(s) {
  fire = [](coro::timer& t) noexcept { static_cast<pressure_timer&>(t).of.check_pressure(); };
}

// If every connection holds this much or less, they are within the limit together: a connection that is
// closed for its memory held more.
std::size_t shard::fair_share() const noexcept {
  const std::size_t all = closing_bytes(quota_->limit);
  return (all - std::min(all, quota_->orphaned.load(std::memory_order_relaxed))) /
         std::max<std::size_t>(quota_->connections.load(std::memory_order_relaxed), 1);
}

bool shard::under_pressure() const noexcept {
  return quota_->used.load(std::memory_order_relaxed) > pressing_bytes(quota_->limit);
}

void shard::on_memory(transport::connection& c, std::size_t bytes) noexcept {
  const auto it = connections_.find(&c);
  if (it == connections_.end()) return;
  served& s = it->second;
  const std::size_t before = std::exchange(s.bytes, bytes);
  s.held_bytes = std::min(s.held_bytes, bytes);
  const std::size_t used =
      quota_->used.fetch_add(bytes - before, std::memory_order_relaxed) + (bytes - before);
  if (bytes > before && under_pressure() && bytes > fair_share() / 2) set_pressure(c, s, true);
  if (bytes > before && used > closing_bytes(quota_->limit)) free_memory(true);
}

// Beyond the limit, a connection that holds no more than its fair share is still served: those that hold more
// are closed instead.
bool shard::may_keep(transport::connection& c, std::size_t more_bytes) noexcept {
  const std::size_t used = quota_->used.load(std::memory_order_relaxed);
  const std::size_t all = closing_bytes(quota_->limit);
  if (used <= all && more_bytes <= all - used) return true;
  const auto it = connections_.find(&c);
  const std::size_t share = fair_share();
  return it != connections_.end() && it->second.bytes <= share && more_bytes <= share - it->second.bytes;
}

void shard::on_orphaned_bytes(std::size_t before) noexcept {
  const std::size_t change = orphaned_bytes - before;  // modulo 2^64
  quota_->orphaned.fetch_add(change, std::memory_order_relaxed);
  const std::size_t used = quota_->used.fetch_add(change, std::memory_order_relaxed) + change;
  if (orphaned_bytes > before && used > closing_bytes(quota_->limit)) free_memory(true);
}

void shard::set_pressure(transport::connection& c, served& s, bool on) noexcept {
  if (s.under_pressure == on) return;
  s.under_pressure = on;
  c.set_memory_pressure(on);
  if (!on || pressure_since_ != never) return;
  watch_pressure();
  server_->notify_other_loops(loop_, memory_state::high);
}

void shard::free_memory(bool notify_others) noexcept {
  const bool made = shed_largest(closing_bytes(quota_->limit), "the server's memory quota is exceeded",
                                 [share = fair_share()](const served& s) { return s.bytes > share; });
  if (!made && notify_others) server_->notify_other_loops(loop_, memory_state::exceeded);
}

// Closes as many as needed. A closed connection goes away at the end of the iteration; until then its bytes
// are still counted as used.
template <class Predicate>
bool shard::shed_largest(std::size_t until_bytes, const char* reason, Predicate may_go) noexcept {
  std::size_t closing_total_bytes = 0;
  for (const auto& [c, s] : connections_) closing_total_bytes += s.closing ? s.bytes : 0;
  while (quota_->used.load(std::memory_order_relaxed) > until_bytes + closing_total_bytes) {
    auto heaviest = connections_.end();
    for (auto it = connections_.begin(); it != connections_.end(); ++it)
      if (!it->second.closing && may_go(it->second) &&
          (heaviest == connections_.end() || it->second.bytes > heaviest->second.bytes))
        heaviest = it;
    if (heaviest == connections_.end()) return false;
    heaviest->second.closing = true;
    measure_rejection("memory");
    closing_total_bytes += heaviest->second.bytes;
    base::if_memory_allows([&] {
      repeated_lines::write(loop_, log_room::server, log_level::warning, this, reason,
                            "closing the connection that holds the most memory, to " +
                                heaviest->first->peer_address().to_string() + ": " + std::string(reason));
    });
    heaviest->first->close_at_turn_end(reason);
  }
  return true;
}

void shard::watch_pressure() noexcept {
  if (pressure_since_ != never) return;
  begin_pressure();
  loop_.arm(pressure_timer_, deadline_after(loop_.now(), pressure_check_interval));
}

void shard::begin_pressure() noexcept {
  pressure_since_ = loop_.now();
  messages.release();
  for (auto& [c, s] : connections_) s.held_bytes = s.bytes;
}

void shard::check_pressure() noexcept {
  if (!under_pressure()) {
    pressure_since_ = never;
    for (auto& [c, s] : connections_) set_pressure(*c, s, false);
    if (quota_->used.load(std::memory_order_relaxed) > low_bytes(quota_->limit))
      return loop_.arm(pressure_timer_, deadline_after(loop_.now(), heap_check_interval));
    base::if_memory_allows([&] { loop_.owner().spawn_on(loop_, shrink_heap()); });
    return;
  }
  if (pressure_since_ == never) begin_pressure();
  if (loop_.now() >= deadline_after(pressure_since_, stall_time)) {
    shed_stalled();
    begin_pressure();
  }
  loop_.arm(pressure_timer_, deadline_after(loop_.now(), pressure_check_interval));
}

// Closes connections that held more than half of their fair share for the whole interval, for example with a
// half-sent message, so that others do not wait for them without end. At least one exists: connections that
// all hold half of their share or less cause no pressure.
void shard::shed_stalled() noexcept {
  shed_largest(pressing_bytes(quota_->limit),
               "too much of the server's memory was held for server_limits::stall_time",
               [share = fair_share()](const served& s) { return s.held_bytes > share / 2; });
}

void shard::report(metrics_sink& to) const noexcept {
  shard_values now;
  now.connections = connections_.size();
  now.calls = count;
  now.orphaned_calls = orphaned;
  now.orphaned_bytes = orphaned_bytes;
  now.bytes_sent = bytes_sent_before_;
  now.bytes_received = bytes_received_before_;
  now.draining = draining_;
  if (admission_) {
    now.limited_calls = admission_->control().running();
    now.waiting_calls = admission_->control().waiting();
    if (admission) now.concurrency_limit = admission->control().limit();
  }
  for (const auto& [c, kept] : connections_) {
    now.connections_under_pressure += kept.under_pressure;
    (kept.under_pressure      ? now.bytes_under_pressure
     : c->open_streams() == 0 ? now.bytes_of_idle
                              : now.bytes_of_active) += kept.held_bytes;
    now.bytes_sent += c->bytes_sent();
    now.bytes_received += c->bytes_received();
  }
  server_internal::report(now, to);
  // All loops share the quota.
  if (loop_.index() == 0) report_quota(quota_->used.load(std::memory_order_relaxed), quota_->limit, to);
}

server_snapshot shard::snapshot(std::uint64_t detailed) const {
  server_snapshot s;
  s.calls_started = calls_started_;
  s.calls_succeeded = succeeded;
  s.calls_failed = failed;
  if (limits_calls_ || admission_ || rate_log_.counted() != 0) {
    loop_admission& now = s.admission.emplace_back();
    now.loop = loop_.index();
    now.rejected_rate = rate_log_.counted();
    if (admission) now.concurrency_limit = admission->control().limit();
    if (admission_) {
      now.calls_limited = admission_->control().running();
      now.calls_waiting = admission_->control().waiting();
      now.rejected_deadline = admission_->rejected_late();
      now.rejected_overload = admission_->rejected() - admission_->rejected_late();
    }
    s.calls_rejected = now.rejected_overload + now.rejected_deadline + now.rejected_rate;
    s.calls_limited = now.calls_limited;
    s.calls_waiting = now.calls_waiting;
    s.concurrency_limit = now.concurrency_limit;
  }
  s.last_call_started = rpc::to_wall_time(loop_, last_call_started_);
  for (const auto& e : listeners_) {
    s.listeners.emplace_back();
    s.listeners.back().id = e->id();
    s.listeners.back().local = e->local_address();
    if (e->id() == detailed)
      s.listeners.back().options = std::make_shared<const runtime_internal::socket_options>(e->options());
  }
  for (const auto& [c, kept] : connections_) {
    s.connections.push_back(rpc::take_snapshot(loop_, kept.id, *c, kept.id == detailed));
    s.last_call_started = std::max(s.last_call_started, s.connections.back().last_stream_started);
  }
  return s;
}

}  // namespace coracle::server_internal
