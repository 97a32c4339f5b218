#include "tools/chaos/relay.hpp"

#include "tools/chaos/tls_record.hpp"

#include <coracle/base/bytes.hpp>
#include <coracle/coro/environment.hpp>
#include <coracle/coro/sleep.hpp>
#include <coracle/runtime/loop.hpp>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace coracle::tools::chaos {

namespace {

constexpr std::string_view client_preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
constexpr std::uint32_t internal_error = 2, cancel = 8;
// Of more streams that were reset, the oldest are forgotten: they have ended long ago.
constexpr std::size_t reset_streams_max = 10'000;

}  // namespace

relay::relay(net::stream client, net::stream server, fault_plan plan, const impostor_authority* authority,
             time_point start, fault_listener hear)
    : client_(std::move(client)),
      server_(std::move(server)),
      plan_(std::move(plan)),
      authority_(authority),
      start_(start),
      hear_(std::move(hear)),
      has_handshake_fault_(plan_.alerts() || plan_.impersonates()) {}

duration relay::now() const { return loop::current()->now() - start_; }

task<> relay::run() {
  scope work{co_await coro::this_environment()};
  work_ = &work;
  // All of them, or none if there is no memory.
  std::array<task<>, 5> parts{read(to_server_), read(to_client_), write(server_), write(client_), occur()};
  for (task<>& one : parts) work.spawn(std::move(one));
  co_await work.join();
  client_.connection.close(is_reset_);
  server_.connection.close(is_reset_);
}

void relay::end() noexcept { work_->request_stop(); }

void relay::cut_off() {
  is_cut_off_ = true;
  client_.to_write.close();
  server_.to_write.close();
}

// The writers end with their queues, which the readers close. A stall, of which neither side is told, ends
// when both have closed.
void relay::end_if_over() noexcept {
  if (readers_ended_ == 2 && (writers_ended_ == 2 || is_stalled_)) end();
}

task<> relay::read(flow& f) {
  std::array<std::uint8_t, piece_bytes> bytes;
  while (true) {
    const result<std::size_t> got = co_await f.from.connection.read(bytes);
    const bool is_stopped = !got.ok() && got.status().code() == status_code::cancelled;
    const bool is_end = !got.ok() || *got == 0;
    if (is_end && !is_stopped && awaits_greeting(f)) co_await greeting_known_;
    if (!got.ok() && !drops(f)) is_reset_ = true;
    if (is_end) {
      if (f.to == direction::to_server && !is_stopped) end_handshake();
      break;
    }
    if (drops(f)) continue;
    std::string text(reinterpret_cast<const char*>(bytes.data()), *got);
    if (f.to == direction::to_server) {
      if (f.position == 0 && plan_.ends_handshake()) {
        hear_(fault_kind::handshake, "");
        is_reset_ = true;
        break;
      }
      if (has_handshake_fault_) text = co_await answer_handshake(text);
      if (text.empty()) continue;
      see_preface(text);
    }
    f.is_cut |= has_preface() && f.frames.is_between();
    if (f.to == direction::to_server ? !speaks_frames_ : !f.is_cut) {
      std::string_view seen = text;
      for (frame_cutter::part p; f.frames.take(seen, p);) continue;
      co_await send(f, std::move(text), has_preface() && f.frames.is_between());
      continue;
    }
    std::size_t up_to = 0;
    std::string passed = cut(f, text, up_to);
    std::string rest = passed.substr(up_to);
    passed.resize(up_to);
    if (!passed.empty()) co_await send(f, std::move(passed), true);
    if (!rest.empty()) co_await send(f, std::move(rest), false);
  }
  if (is_reset_) co_return end();
  std::string rest = f.is_cut ? f.frames.give_back() : std::string();
  if (f.to == direction::to_server) rest.append(greeting_);
  if (!drops(f) && !rest.empty()) co_await send(f, std::move(rest), false);
  if (!drops(f)) f.into.to_write.close();
  if (f.to == direction::to_server) greeting_known_.set();
  ++readers_ended_;
  end_if_over();
}

bool relay::awaits_greeting(const flow& f) const noexcept {
  return f.to == direction::to_client && f.position == 0 && has_handshake_fault_;
}

task<std::string> relay::answer_handshake(std::string_view bytes) {
  if (!impostor_) {
    greeting_.append(bytes);
    // A server that has spoken first does not speak TLS. What the client has got of it, no impostor can undo.
    const std::optional<bool> is_handshake =
        to_client_.position > 0 ? std::optional(false) : begins_handshake(greeting_);
    if (!is_handshake) co_return std::string();
    if (!*is_handshake) {
      has_handshake_fault_ = false;
      greeting_known_.set();
      co_return std::exchange(greeting_, {});
    }
    bytes = greeting_;
    if (plan_.alerts()) {
      hear_(fault_kind::alert, "");
      co_await send(to_client_, std::string(handshake_failure), false);
      cut_off();
    } else {
      impostor_ = std::make_unique<impostor>(*authority_);
    }
    greeting_known_.set();
  }
  if (impostor_) co_await impersonate(bytes);
  greeting_.clear();
  co_return std::string();
}

task<> relay::impersonate(std::string_view bytes) {
  std::string answer = impostor_->answer(bytes);
  if (!answer.empty()) co_await send(to_client_, std::move(answer), false);
  tell_verdict();
}

void relay::end_handshake() {
  if (!impostor_ || drops_all()) return;
  impostor_->end(to_client_.last_due <= loop::current()->now());
  tell_verdict();
}

void relay::tell_verdict() {
  if (impostor_->verdict().empty()) return;
  hear_(fault_kind::certificate, impostor_->verdict());
  cut_off();
}

bool relay::has_preface() const noexcept { return speaks_frames_ && preface_seen_ == client_preface.size(); }

// The preface of a client comes before its first frame. The cutter of this direction begins after it.
void relay::see_preface(std::string_view bytes) {
  if (preface_seen_ == client_preface.size() || !speaks_frames_) return;
  const std::string_view wanted = client_preface.substr(preface_seen_);
  const std::size_t n = std::min(wanted.size(), bytes.size());
  speaks_frames_ = bytes.substr(0, n) == wanted.substr(0, n);
  preface_seen_ += n;
}

std::string relay::cut(flow& f, std::string_view bytes, std::size_t& up_to) {
  std::string out;
  if (f.to == direction::to_server && f.position < client_preface.size()) {
    const std::size_t n = std::min<std::size_t>(client_preface.size() - f.position, bytes.size());
    out.append(bytes.substr(0, n));
    bytes.remove_prefix(n);
    if (f.position + n == client_preface.size()) up_to = out.size();
  }
  const auto add_resets = [&] {
    if (f.to == direction::to_server && f.frames.is_between()) out.append(std::exchange(resets_, {}));
  };
  add_resets();
  for (frame_cutter::part p; f.frames.take(bytes, p);) {
    if (!p.header.empty()) f.drops = drops_frame(f);
    if (!p.header.empty() && f.to == direction::to_client && f.frames.is(frame_type::headers))
      heads_end_stream_ = f.frames.ends_stream();
    // The sender's window for the connection gets back what the receiver will not give back.
    if (!p.header.empty() && f.drops && f.frames.is(frame_type::data) && f.frames.length() > 0)
      insert(f.from, frame_of(frame_type::window_update, 0, u32(f.frames.length())));
    if (!f.drops) out.append(p.header).append(p.payload);
    if (!p.ends || !f.frames.is_between()) continue;
    if (f.to == direction::to_client) reset_if_chosen(f, out);
    add_resets();
    up_to = out.size();
  }
  return out;
}

// Of streams that were reset, DATA does not pass, and the client need not tell the server what it has been
// told. Header blocks pass: those after them refer to what they put into the table.
bool relay::drops_frame(const flow& f) const {
  const bool may_drop =
      f.frames.is(frame_type::data) || (f.to == direction::to_server && f.frames.is(frame_type::rst_stream));
  return may_drop && reset_.contains(f.frames.stream());
}

// After a frame other than those within a header block.
void relay::reset_if_chosen(flow& f, std::string& out) {
  const std::uint32_t stream = f.frames.stream();
  const bool is_head = f.frames.is(frame_type::headers) || f.frames.is(frame_type::continuation);
  if (!is_head || heads_end_stream_ || reset_.contains(stream) || !plan_.resets(stream, now())) return;
  hear_(fault_kind::reset, "stream " + std::to_string(stream));
  if (reset_.size() == reset_streams_max) reset_.erase(reset_.begin());
  reset_.insert(stream);
  out.append(frame_of(frame_type::rst_stream, stream, u32(internal_error)));
  // After the DATA that has been read and waits to be written.
  resets_.append(frame_of(frame_type::rst_stream, stream, u32(cancel)));
  insert(server_, {});
}

void relay::insert(side& to, std::string_view frame) {
  to.pending.append(frame);
  // Wakes the writer. If there is no room, it is not idle.
  piece nothing{{}, {}, to.is_between};
  if (to.is_between) static_cast<void>(to.to_write.try_send(std::move(nothing)));
}

task<> relay::send(flow& f, std::string bytes, bool is_between) {
  if (is_cut_off_) co_return;
  const std::string_view receiver = f.to == direction::to_server ? "to the server" : "to the client";
  const std::optional<std::size_t> passing = plan_.truncate(f.to, f.position, bytes.size(), now());
  if (passing) {
    bytes.resize(*passing);
    is_between = false;
  }
  if (const int changed = plan_.corrupt(f.to, f.position, bytes, now()); changed > 0)
    hear_(fault_kind::corrupt,
          (std::to_string(changed) + (changed == 1 ? " byte " : " bytes ")).append(receiver));
  const time_point here = loop::current()->now();
  const time_point arrives = here + plan_.delay_of(f.to, f.position, now());
  f.position += bytes.size();
  std::string_view rest = bytes;
  while (!rest.empty()) {
    const std::uint64_t per_second = plan_.bytes_per_second(now());
    // A tenth of a second's bytes at a time, so that they do not come in bursts.
    const std::size_t n =
        per_second == 0 ? rest.size() : std::min<std::size_t>(rest.size(), per_second / 10 + 1);
    f.last_due = std::max(f.last_due, arrives);
    if (per_second != 0)
      f.last_due =
          std::max(f.last_due, here) + duration(static_cast<duration::rep>(1e9 * static_cast<double>(n) /
                                                                           static_cast<double>(per_second)));
    piece next{std::string(rest.substr(0, n)), f.last_due, is_between && n == rest.size()};
    rest.remove_prefix(n);
    if (!co_await f.into.to_write.send(std::move(next))) co_return;
  }
  if (!passing) co_return;
  hear_(fault_kind::truncate, ("after " + std::to_string(f.position) + " bytes ").append(receiver));
  cut_off();
}

task<> relay::write(side& to) {
  while (true) {
    std::optional<piece> next = co_await to.to_write.receive();
    if (!next) break;
    if (next->due > loop::current()->now()) co_await sleep_until(next->due);
    if (is_stalled_) continue;
    if (!next->bytes.empty()) to.is_between = next->is_between;
    if (to.is_between) next->bytes.append(std::exchange(to.pending, {}));
    if (&to == &server_ && to.is_between && to.to_write.size() == 0 && to_server_.frames.is_between())
      next->bytes.append(std::exchange(resets_, {}));
    if (!(co_await to.connection.write(as_bytes(next->bytes))).ok()) {
      is_reset_ = true;
      co_return end();
    }
  }
  if (!is_stalled_) to.connection.shutdown_send();
  ++writers_ended_;
  end_if_over();
}

// The faults that have their time.
task<> relay::occur() {
  std::array<fault_kind, 3> kinds{fault_kind::goaway, fault_kind::stall, fault_kind::close};
  std::ranges::sort(kinds, {}, [&](fault_kind k) { return plan_.time_of(k).value_or(duration::max()); });
  for (const fault_kind k : kinds) {
    const std::optional<duration> at = plan_.time_of(k);
    if (!at) break;
    co_await sleep_until(deadline_after(start_, *at));
    if (is_cut_off_) break;
    if (is_stalled_) {
      if (k != fault_kind::close) continue;
    } else if (k == fault_kind::goaway && !has_preface()) {
      continue;
    }
    hear_(k, "");
    switch (k) {
      case fault_kind::stall: is_stalled_ = true; break;
      // Without an error, and for no stream: those that are open go on, and the client opens no others.
      case fault_kind::goaway:
        insert(client_, frame_of(frame_type::goaway, 0, u32(0x7fffffff) + u32(0)));
        break;
      default: is_reset_ = true; co_return end();
    }
  }
}

}  // namespace coracle::tools::chaos
