#include "client/replayed_attempt.hpp"

#include "client/attempt_set.hpp"
#include "client/client_head.hpp"

#include <cstring>
#include <utility>

namespace coracle::client {

namespace {

// What a stream is given ahead of its window. The rest stays in the buffer, of which there is one for all attempts.
constexpr std::size_t ahead_high_bytes = 64u << 10;
constexpr std::size_t ahead_low_bytes = 32u << 10;

}  // namespace

void replayed_attempt::begin(attempt_source& from, std::unique_ptr<attempt_watch> watch) noexcept {
  next_piece_ = taken_bytes_ = 0;
  watch_ = std::move(watch);
  on_its_way_ = true;
  from.begin(*this);
}

void replayed_attempt::cancel(const status& why) noexcept {
  on_its_way_ = false;
  list_hook::unlink();
  if (exchange_) exchange_.release();
  end_watch(watch_, why);
}

// --- sending

void replayed_attempt::attach(transport::exchange x, const call_target& target) noexcept {
  list_hook::unlink();
  exchange_ = x;
  send_client_head(exchange_, target, terms(), previous_, watch_ ? &watch_->more() : nullptr);
  if (watch_) watch_->attached(exchange_);
  pump();
  set_.attached(*this);
}

void replayed_attempt::pump() noexcept {
  if (!exchange_) return;
  while (next_piece_ < sent_.pieces()) {
    if (exchange_.queued() > ahead_high_bytes) return exchange_.want_writable(ahead_low_bytes);
    send(sent_.at(next_piece_));
  }
}

// Once for each piece that is sent; the last one may say no more than the end.
void replayed_attempt::count(const replay_buffer::piece& p) noexcept {
  if (p.size == 0) return;
  exchange_.count_sent();
  if (watch_) watch_->message_sent(p.message);
}

void replayed_attempt::send(const replay_buffer::piece& p) noexcept {
  count(p);
  ++next_piece_;
  taken_bytes_ += p.size;
  if (std::uint8_t* room = exchange_.reserve_data(p.size)) {
    if (p.size > 0) std::memcpy(room, p.bytes.get(), p.size);
    return exchange_.commit_data(p.size, p.end_stream);
  }
  std::unique_ptr<std::uint8_t[]> copy;
  if (p.size > 0) {
    copy.reset(new std::uint8_t[p.size]);
    std::memcpy(copy.get(), p.bytes.get(), p.size);
  }
  exchange_.queue_data(std::move(copy), p.size, p.end_stream);
}

std::size_t replayed_attempt::unsent() const noexcept {
  return sent_.bytes() - taken_bytes_ + (exchange_ ? exchange_.queued() : 0);
}

void replayed_attempt::want_writable(std::size_t low_bytes) noexcept {
  if (exchange_) exchange_.want_writable(low_bytes);
}

void replayed_attempt::on_writable() noexcept {
  pump();
  set_.room();
}

transport::exchange replayed_attempt::hand_over() noexcept {
  on_its_way_ = false;
  for (; next_piece_ < sent_.pieces(); ++next_piece_) {
    replay_buffer::piece& p = sent_.at(next_piece_);
    count(p);
    exchange_.queue_data(std::move(p.bytes), p.size, p.end_stream);
  }
  return std::exchange(exchange_, {});
}

// --- how it goes

void replayed_attempt::fail(const status& why, refusal how) noexcept {
  attempt_end e;
  e.how = why;
  e.final = how == refusal::final;
  set_.ended(*this, std::move(e));
}

void replayed_attempt::on_headers(transport::header_source& fields, transport::block_kind kind,
                                  bool end_stream) noexcept {
  if (kind == transport::block_kind::informational) return;
  protocol::grpc::response_headers head;
  if (!head.read(fields)) return;  // on_reset() follows
  const bool foreign = head.http_status != 200 || !head.grpc_content;
  if (end_stream ? head.has_status && head.code == status_code::ok : !foreign)
    return set_.succeeded(*this, head, end_stream);
  attempt_end e;
  e.how = end_stream ? end_by_trailers(head, head.http_status) : end_by_foreign_head(head);
  e.trailing = metadata(std::move(head.metadata));
  e.pushback = head.pushback;
  e.retry_after = head.retry_after;
  exchange_.release();
  set_.ended(*this, std::move(e));
}

// Before the head there is none, and after it this handles nothing.
void replayed_attempt::on_data(bytes_view bytes, bool) noexcept { exchange_.consume(bytes.size()); }

void replayed_attempt::on_reset(const transport::abnormal_end& e) noexcept {
  exchange_.release();
  if (e.unprocessed && set_.try_again(*this, end_by_reset(e))) return;
  attempt_end end;
  end.how = end_by_reset(e);
  set_.ended(*this, std::move(end));
}

}  // namespace coracle::client
