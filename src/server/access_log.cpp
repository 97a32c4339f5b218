#include "coracle/server/access_log.hpp"

#include "base/if_memory_allows.hpp"
#include "base/printable.hpp"
#include "coracle/base/usage_error.hpp"
#include "coracle/coro/executor.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <string>
#include <string_view>
#include <utility>

namespace coracle {

namespace {

long long microseconds_in(duration d) {
  return std::chrono::duration_cast<std::chrono::microseconds>(d).count();
}

// The fields of one line, and the texts that they refer to.
class access_line {
 public:
  void add(std::string_view key, log_value value) noexcept {
    if (count_ < fields_.size()) fields_[count_++] = {key, value};
  }
  // Text from the client, or from an address.
  void add_text(std::string_view key, std::string text) {
    if (count_ == fields_.size()) return;
    std::string& kept = texts_[count_] = std::move(text);
    add(key, std::string_view(kept));
  }
  void add_untrusted(std::string_view key, std::string_view text) {
    std::string shown = base::printable(text);
    std::ranges::replace(shown, ' ', '?');
    add_text(key, std::move(shown));
  }
  void add_metadata(const access_log_options& options, const metadata& received) {
    for (const std::string& key : options.metadata)
      if (const auto value = received.find(key)) add_untrusted(key, *value);
  }

  void write(logger& to, const std::optional<log_trace>& trace) noexcept {
    to.in(log_room::access, trace).write(log_level::info, {}, {fields_.data(), count_});
  }

 private:
  // The fields of the enumeration, the one that a plain route has besides, and the metadata.
  static constexpr std::size_t fields_max = 16 + access_log_options::metadata_max;
  std::array<log_field, fields_max> fields_;
  std::array<std::string, fields_max> texts_;
  std::size_t count_ = 0;
};

void add_field(access_line& to, access_field field, const server_context& c, const status& outcome,
               duration took) {
  const call_traffic t = c.traffic();
  switch (field) {
    // A path is printable, or its request is malformed; printable() limits its length.
    case access_field::method: return to.add_untrusted("call", c.method());
    case access_field::peer: return to.add_text("peer", c.peer().to_string());
    case access_field::status: return to.add("status", name_of(outcome.code()));
    case access_field::took: return to.add("duration_us", microseconds_in(took));
    case access_field::received: return to.add("received", t.messages_received);
    case access_field::received_bytes: return to.add("received_bytes", t.bytes_received);
    case access_field::sent: return to.add("sent", t.messages_sent);
    case access_field::sent_bytes: return to.add("sent_bytes", t.bytes_sent);
    case access_field::authority: return to.add_untrusted("authority", c.authority());
    case access_field::user_agent:
      if (const auto agent = c.metadata().find("user-agent"))
        to.add_text("user_agent", base::printable(*agent));
      return;
    case access_field::identity:
      if (c.auth() && !c.auth()->identities().empty())
        to.add_text("identity", base::printable(c.auth()->identities().front().value()));
      return;
    case access_field::status_message:
      if (!outcome.ok()) to.add_text("status_message", base::printable(outcome.message()));
      return;
  }
}

void add_field(access_line& to, access_field field, const finished_http_request& r) {
  switch (field) {
    case access_field::method: to.add("http", r.method); return to.add_untrusted("path", r.path);
    case access_field::peer: return to.add_text("peer", r.peer.to_string());
    case access_field::status: return to.add("status", r.status);
    case access_field::took: return to.add("duration_us", microseconds_in(r.took));
    case access_field::received_bytes: return to.add("received_bytes", r.received_bytes);
    case access_field::sent_bytes: return to.add("sent_bytes", r.sent_bytes);
    case access_field::user_agent:
      if (const auto agent = r.headers.find("user-agent")) to.add_text("user_agent", base::printable(*agent));
      return;
    case access_field::received:
    case access_field::sent:
    case access_field::authority:
    case access_field::identity:
    case access_field::status_message: return;
  }
}

bool carries_credentials(std::string_view key) noexcept {
  return key == "authorization" || key == "proxy-authorization" || key == "cookie";
}

access_log_options checked(access_log_options options) {
  if (options.sample_one_of == 0)
    base::throw_usage_error("access_log_options::sample_one_of is 0: it must be at least 1");
  if (options.metadata.size() > access_log_options::metadata_max)
    base::throw_usage_error("access_log_options::metadata has more than 16 keys");
  if (options.fields.size() > 12) base::throw_usage_error("access_log_options::fields names a field twice");
  if (std::ranges::any_of(options.metadata, carries_credentials))
    base::throw_usage_error("access_log_options::metadata names a header that carries credentials");
  return options;
}

}  // namespace

access_log::access_log(logger& to, access_log_options options)
    : to_(to), options_(checked(std::move(options))) {}

bool access_log::is_logged(bool succeeded, duration took) noexcept {
  if (!to_.is_enabled(log_room::access, log_level::info)) return false;
  if (options_.sample_one_of == 1 || !succeeded || took >= options_.slow) return true;
  return fast_and_ok_.fetch_add(1, std::memory_order_relaxed) % options_.sample_one_of == 0;
}

task<status> access_log::intercept(server_context& context, next_handler next) {
  const time_point began = coro::this_executor().now();
  const status outcome = co_await next();
  const duration took = coro::this_executor().now() - began;
  if (is_logged(outcome.ok(), took)) write(context, outcome, took);
  co_return outcome;
}

// Apart from the coroutine, whose frame would have room for the line in each call.
void access_log::write(const server_context& context, const status& outcome, duration took) const {
  access_line line;
  for (const access_field field : options_.fields) add_field(line, field, context, outcome, took);
  line.add_metadata(options_, context.metadata());
  line.write(to_, context.log().trace());
}

void access_log::on_http_end(const finished_http_request& request) noexcept {
  const bool succeeded = request.complete && request.status != 0 && request.status < 400;
  if (!is_logged(succeeded, request.took)) return;
  base::if_memory_allows([&] {
    access_line line;
    for (const access_field field : options_.fields) add_field(line, field, request);
    if (!request.complete) line.add("cut", "yes");
    line.add_metadata(options_, request.headers);
    line.write(to_, request.trace);
  });
}

}  // namespace coracle
