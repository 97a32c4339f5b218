#include "transport/exchange.hpp"

#include "transport/http1_session.hpp"

namespace coracle::transport {

namespace {

// The maximum output that has left the streams' windows but not the process. Above it streams queue their
// data, so that their writers wait.
constexpr std::size_t output_high_bytes = 256u << 10;
// Pieces larger than this queue already above connection::bulk_high_bytes.
constexpr std::size_t bulk_piece_bytes = 4u << 10;

}  // namespace

bool exchange::fits_in_current_send(std::size_t bytes) const noexcept {
  return connection_->engine_.output().size() <=
         (bytes > bulk_piece_bytes ? connection::bulk_high_bytes : output_high_bytes);
}

std::size_t exchange::peer_header_list_bytes() const noexcept {
  const auto& http1 = connection_->http1_;
  return http1 ? http1->header_bytes_max() : connection_->engine_.peer_header_list_bytes();
}

bool exchange::begin_headers() noexcept {
  if (target_) [[unlikely]]
    return target_->begin_headers();
  return !connection_->closing_ && connection_->engine_.begin_headers(stream_);
}

void exchange::end_headers(bool end_stream) noexcept {
  if (target_) [[unlikely]]
    return target_->end_headers(end_stream);
  connection& c = *connection_;
  c.stats_.streams_succeeded += end_stream && c.acceptor_;
  c.engine_.end_headers(end_stream);
  c.schedule_flush();
}

bool exchange::send_block(bytes_view stateless, bool end_stream) {
  connection& c = *connection_;
  c.schedule_flush();
  if (c.closing_ || !c.engine_.send_block(stream_, stateless, end_stream)) return false;
  c.stats_.streams_succeeded += end_stream && c.acceptor_;
  if (end_stream && c.accounting_due_) [[unlikely]]
    c.update_congestion();
  return true;
}

std::uint8_t* exchange::reserve_data(std::size_t n) {
  if (target_) [[unlikely]]
    return target_->reserve_data(n);
  connection& c = *connection_;
  if (c.closing_ || !fits_in_current_send(n)) return nullptr;
  return c.engine_.reserve_data(stream_, n);
}

void exchange::commit_data(std::size_t n, bool end_stream) noexcept {
  if (target_) [[unlikely]]
    return target_->commit_data(n, end_stream);
  connection& c = *connection_;
  c.engine_.commit_data(stream_, n, end_stream);
  c.stats_.streams_succeeded += end_stream && c.acceptor_;
  c.schedule_flush();
}

std::uint8_t* exchange::reserve_reply(const unary_response& r) {
  if (target_) [[unlikely]]
    return target_->reserve_reply(r.message_bytes);
  connection& c = *connection_;
  if (c.closing_ || !fits_in_current_send(r.message_bytes)) return nullptr;
  return c.engine_.reserve_reply(stream_, r);
}

void exchange::commit_reply(const unary_response& r, bool kept) noexcept {
  connection& c = *std::exchange(connection_, nullptr);
  if (target_) [[unlikely]]
    return std::exchange(target_, nullptr)->commit_reply(r.message_bytes);
  c.engine_.commit_reply(stream_, r);
  ++c.stats_.streams_succeeded;
  if (c.accounting_due_) [[unlikely]]
    c.update_congestion();
  if (kept) [[unlikely]]
    c.report_memory();
  c.on_released(stream_);
}

bool exchange::queue_data(std::unique_ptr<std::uint8_t[]> bytes, std::size_t n, bool end_stream) {
  if (target_) [[unlikely]]
    return target_->queue_data(std::move(bytes), n, end_stream);
  connection& c = *connection_;
  c.schedule_flush();
  if (c.closing_ || c.close_reason_ || !c.engine_.queue_data(stream_, std::move(bytes), n, end_stream))
    return false;
  if (!c.acceptor_) return true;
  c.stats_.streams_succeeded += end_stream;
  c.accounting_due_ = true;
  c.update_congestion();
  if (n >= large_message_bytes) c.report_memory();
  return true;
}

void exchange::out_of_memory() noexcept {
  if (target_) return target_->out_of_memory();
  connection_->engine_.fail(error_code::enhance_your_calm, "out of memory");
  connection_->schedule_flush();  // for its events
}

void exchange::want_writable(std::size_t low_bytes) noexcept {
  if (target_) [[unlikely]]
    return target_->want_writable(low_bytes);
  connection_->engine_.want_writable(stream_, low_bytes);
  connection_->schedule_flush();
}

}  // namespace coracle::transport
