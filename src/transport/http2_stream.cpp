#include "transport/http2_stream.hpp"

#include <utility>
#include <vector>

namespace coracle::transport {

namespace {

// The maximum output that has left the streams' windows but not the process. Above it streams queue their
// data, so that their writers wait.
constexpr std::size_t output_high_bytes = 256u << 10;
// Pieces larger than this queue already above connection::bulk_high_bytes.
constexpr std::size_t bulk_piece_bytes = 4u << 10;

}  // namespace

bool http2_stream::fits_in_current_send(std::size_t bytes) const noexcept {
  return connection_->engine_.output().size() <=
         (bytes > bulk_piece_bytes ? connection::bulk_high_bytes : output_high_bytes);
}

bool http2_stream::begin_headers() noexcept {
  return !connection_->closing_ && connection_->engine_.begin_headers(ref_);
}

void http2_stream::end_headers(bool end_stream) noexcept {
  connection& c = *connection_;
  c.counters_.streams_succeeded += end_stream && c.acceptor_;
  c.engine_.end_headers(end_stream);
  c.schedule_flush();
}

bool http2_stream::send_fields(const hpack::encoded_fields& kept) noexcept {
  connection& c = *connection_;
  if (c.closing_ || !c.engine_.send_fields(ref_, kept)) return false;
  c.schedule_flush();
  return true;
}

bool http2_stream::send_block(bytes_view stateless, bool end_stream) {
  connection& c = *connection_;
  c.schedule_flush();
  if (c.closing_ || !c.engine_.send_block(ref_, stateless, end_stream)) return false;
  c.counters_.streams_succeeded += end_stream && c.acceptor_;
  if (end_stream && c.accounting_due_) [[unlikely]]
    c.update_congestion();
  return true;
}

void http2_stream::answer_with_block(std::span<const bytes_view> stateless) {
  connection& c = *connection_;
  if (c.closing_ || !c.engine_.answer_with_block(ref_, stateless)) [[unlikely]] {
    std::vector<std::uint8_t> whole;
    for (const bytes_view piece : stateless) whole.insert(whole.end(), piece.begin(), piece.end());
    static_cast<void>(send_block(whole, true));
    return release();
  }
  connection_ = nullptr;
  ++c.counters_.streams_succeeded;
  if (c.accounting_due_) [[unlikely]]
    c.update_congestion();
  c.on_released(ref_);
}

std::uint8_t* http2_stream::reserve_data(std::size_t n) {
  connection& c = *connection_;
  if (c.closing_ || !fits_in_current_send(n)) return nullptr;
  return c.engine_.reserve_data(ref_, n);
}

void http2_stream::commit_data(std::size_t n, bool end_stream) noexcept {
  connection& c = *connection_;
  c.engine_.commit_data(ref_, n, end_stream);
  c.counters_.streams_succeeded += end_stream && c.acceptor_;
  c.schedule_flush();
}

std::uint8_t* http2_stream::reserve_reply(const unary_response& r) {
  connection& c = *connection_;
  if (c.closing_ || !fits_in_current_send(r.message_bytes)) return nullptr;
  return c.engine_.reserve_reply(ref_, r);
}

void http2_stream::commit_reply(const unary_response& r, bool kept) noexcept {
  connection& c = *std::exchange(connection_, nullptr);
  c.engine_.commit_reply(ref_, r);
  ++c.counters_.streams_succeeded;
  if (c.accounting_due_) [[unlikely]]
    c.update_congestion();
  if (kept) [[unlikely]]
    c.report_memory();
  c.on_released(ref_);
}

bool http2_stream::queue_data(std::unique_ptr<std::uint8_t[]> bytes, std::size_t n, bool end_stream) {
  connection& c = *connection_;
  c.schedule_flush();
  if (c.closing_ || c.close_reason_ || !c.engine_.queue_data(ref_, std::move(bytes), n, end_stream))
    return false;
  if (!c.acceptor_) return true;
  c.counters_.streams_succeeded += end_stream;
  c.accounting_due_ = true;
  c.update_congestion();
  if (n >= large_message_bytes) c.report_memory();
  return true;
}

void http2_stream::out_of_memory() noexcept {
  connection_->engine_.fail(error_code::enhance_your_calm, "out of memory");
  connection_->schedule_flush();  // for its events
}

void http2_stream::want_writable(std::size_t low_bytes) noexcept {
  connection_->engine_.want_writable(ref_, low_bytes);
  connection_->schedule_flush();
}

}  // namespace coracle::transport
