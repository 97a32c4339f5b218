// The frames that manage streams and the connection (RFC 9113 6.3 to 6.9).
#include "http2/connection.hpp"

#include <algorithm>

namespace coracle::http2 {

// RFC 9113 6.3: checked for form and otherwise ignored.
connection::progress connection::on_priority(bytes_view payload) {
  if (frame_.id == 0) return die(error_code::protocol_error, "PRIORITY on stream 0");
  if (!charge_control()) return progress::again;
  error_code code = error_code::no_error;
  if (payload.size() != 5) code = error_code::frame_size_error;
  // RFC 7540 5.3.1.
  else if ((load_u32(payload.data()) & stream_id_max) == frame_.id) code = error_code::protocol_error;
  if (code == error_code::no_error) return progress::again;
  stream* const s = find_id(frame_.id);
  // RST_STREAM is not allowed on an idle stream, and of no use on a closed one.
  if (!s) return die(code, "bad PRIORITY");
  stream_fault(s, frame_.id, code, "bad PRIORITY");
  return progress::again;
}

connection::progress connection::on_rst_stream(bytes_view payload) {
  if (frame_.id == 0) return die(error_code::protocol_error, "RST_STREAM on stream 0");
  if (payload.size() != 4) return die(error_code::frame_size_error, "RST_STREAM of a wrong length");
  stream* const s = find_id(frame_.id);
  const stream_state now_in = s ? s->state : state_of(frame_.id);
  const transition& t = transition_of(now_in, stream_input::receive_reset);
  if (t.verdict == stream_verdict::connection_error) return die(t.code, "RST_STREAM on an idle stream");
  if (!s) {
    // It may have crossed our END_STREAM or RST_STREAM, once.
    const bool crossed = now_in == stream_state::ended || now_in == stream_state::reset_sent;
    if (!crossed && !charge_control()) return progress::again;
    if (crossed) closed_.remember(frame_.id, t.next);
    return progress::again;
  }
  // Rapid reset: what we have answered to the end was worth its while.
  if (may_send(s->state) && !charge_reset(frame_.id)) return progress::again;
  const auto code = static_cast<error_code>(load_u32(payload.data()));
  // RFC 9113 8.7: REFUSED_STREAM promises that nothing was processed.
  end(*s, t.next, code, initiator::peer, "reset by the peer", code == error_code::refused_stream);
  return progress::again;
}

connection::progress connection::on_settings(bytes_view payload) {
  if (frame_.id != 0) return die(error_code::protocol_error, "SETTINGS on a stream");
  if (frame_.has(flag::ack)) {
    if (!payload.empty()) return die(error_code::frame_size_error, "SETTINGS with ACK and a payload");
    return on_settings_ack();
  }
  if (!charge_control()) return progress::again;
  settings_values changed = peer_;
  if (!peer_settings_seen_) changed.max_concurrent_streams = unlimited;  // ours was an assumption
  const settings_fault fault = read_settings(payload, side_ == role::client, changed);
  if (fault.code != error_code::no_error) return die(fault.code, fault.reason);

  // RFC 7541 4.2: a lower size in between has to be gone through.
  if (changed.header_table_bytes_lowest < changed.header_table_bytes)
    encoder_.set_peer_limit(changed.header_table_bytes_lowest);
  if (changed.header_table_bytes != peer_.header_table_bytes ||
      changed.header_table_bytes_lowest < changed.header_table_bytes)
    encoder_.set_peer_limit(changed.header_table_bytes);

  // RFC 9113 6.9.2: existing streams' windows change by the difference.
  const std::int64_t more = std::int64_t{changed.initial_window_bytes} - peer_.initial_window_bytes;
  peer_ = changed;
  if (more != 0) {
    for (std::uint32_t i = 0; i < streams_.bound(); ++i) {
      if (!streams_.live(i) || is_closed(streams_[i].state)) continue;
      if (!streams_[i].send.add(more))
        return die(error_code::flow_control_error, "SETTINGS overflow a stream's window");
      schedule(streams_[i]);
    }
  }
  note_limit();
  // RFC 9113 6.5.3: acknowledged as soon as applied.
  write_frame_header(output_.reserve(frame_header_bytes), 0, frame_type::settings, flag::ack, 0);
  output_.commit(frame_header_bytes);
  if (!answered(frame_header_bytes)) return progress::again;
  if (!peer_settings_seen_) settings_pending_ = pending_ = true;
  peer_settings_seen_ = true;
  return progress::again;
}

// Ours are in force with the peer from here on.
connection::progress connection::on_settings_ack() {
  if (settings_acked_) {
    charge_control();
    return progress::again;
  }
  settings_acked_ = true;
  path_.answered(now_);
  reader_.set_table_limit(limit_.header_table_bytes);
  if (stream_receive_bytes_ == limit_.initial_window_bytes) return progress::again;
  stream_receive_bytes_ = limit_.initial_window_bytes;
  for (std::uint32_t i = 0; i < streams_.bound(); ++i)
    if (streams_.live(i) && !is_closed(streams_[i].state)) streams_[i].receive.resize(stream_receive_bytes_);
  return progress::again;
}

connection::progress connection::on_ping(bytes_view payload) {
  if (frame_.id != 0) return die(error_code::protocol_error, "PING on a stream");
  if (payload.size() != 8) return die(error_code::frame_size_error, "PING of a wrong length");
  const std::uint64_t opaque = load_u64(payload.data());
  if (!frame_.has(flag::ack)) {
    if (ping_allowance_ > 0) --ping_allowance_;
    else if (!charge_control()) return progress::again;
    // gRFC A8: the client doubles its keepalive time when it reads these words.
    if (side_ == role::server && !strikes_.take(limit_.pings, now_, open_count_ != 0))
      return die(error_code::enhance_your_calm, "too_many_pings");
    write_ping(opaque, true);
    ++pings_answered_;
    answered(frame_header_bytes + 8);
    return progress::again;
  }
  if (is_drain_ping(opaque)) {
    all_read_ = drained_at_ == last_given_id_;
    drain_now();
    return progress::again;
  }
  if (answers_keepalive(opaque) || answers_window_ping(opaque)) return progress::again;
  charge_control();
  return progress::again;
}

connection::progress connection::on_goaway(bytes_view payload) {
  if (frame_.id != 0) return die(error_code::protocol_error, "GOAWAY on a stream");
  if (payload.size() < 8) return die(error_code::frame_size_error, "GOAWAY too short");
  if (!charge_control()) return progress::again;
  const stream_id last = load_u32(payload.data()) & stream_id_max;
  goaway_code_ = static_cast<error_code>(load_u32(payload.data() + 4));
  // The event may come after take_unread(), when feed()'s argument is gone.
  if (payload.data() != assembly_.data()) assembly_.assign(payload.begin(), payload.end());
  goaway_debug_ = bytes_view(assembly_).subspan(8);
  goaway_pending_ = pending_ = peer_goes_away_ = true;
  if (side_ == role::server) return progress::again;
  // RFC 9113 6.8: what lies above was not processed and may be tried elsewhere; so may what was not sent yet.
  for (std::uint32_t i = 0; i < streams_.bound(); ++i) {
    if (!streams_.live(i) || is_closed(streams_[i].state)) continue;
    stream& s = streams_[i];
    if (s.id == 0 || s.id > last)
      end(s, stream_state::reset_received, goaway_code_, initiator::peer, "not processed before GOAWAY",
          true);
  }
  return progress::again;
}

connection::progress connection::on_window_update(bytes_view payload) {
  if (payload.size() != 4) return die(error_code::frame_size_error, "WINDOW_UPDATE of a wrong length");
  // Honest updates follow our DATA, or the opening of a stream.
  if (update_allowance_ > 0) --update_allowance_;
  else if (!charge_control()) return progress::again;
  const std::uint32_t increment = load_u32(payload.data()) & window_bytes_max;
  if (frame_.id == 0) {
    if (increment == 0) return die(error_code::protocol_error, "WINDOW_UPDATE of 0");
    // RFC 9113 6.9.1.
    if (!send_.add(increment))
      return die(error_code::flow_control_error, "the connection's window above 2^31-1");
    return progress::again;
  }
  stream* const s = find_id(frame_.id);
  const transition& t =
      transition_of(s ? s->state : state_of(frame_.id), stream_input::receive_window_update);
  if (t.verdict == stream_verdict::connection_error) return die(t.code, "WINDOW_UPDATE on an idle stream");
  // An update may cross our END_STREAM (RFC 9113 5.1), but one of 0 is wrong in any state.
  if (increment == 0) {
    stream_fault(s, frame_.id, error_code::protocol_error, "WINDOW_UPDATE of 0");
  } else if (!s) {
    return progress::again;
  } else if (!s->send.add(increment)) {
    stream_fault(s, frame_.id, error_code::flow_control_error, "a stream's window above 2^31-1");
  } else {
    schedule(*s);
  }
  return progress::again;
}

}  // namespace coracle::http2
