#include "rpc/take_snapshot.hpp"

namespace coracle::rpc {

wall_time on_the_wall(loop& l, time_point t) {
  if (t == time_point{}) return {};
  return l.wall_now() - std::chrono::duration_cast<wall_time::duration>(l.now() - t);
}

connection_snapshot take_snapshot(loop& home, std::uint64_t id, transport::connection& c) {
  const transport::connection_figures f = c.figures();
  connection_snapshot s;
  s.id = id;
  s.local = c.local_address();
  s.peer = c.peer_address();
  if (const auth_context* a = c.auth()) s.auth = a->weak_from_this().lock();
  s.secure = c.auth() != nullptr;
  s.streams_started = f.streams_started;
  s.streams_succeeded = f.streams_succeeded;
  s.streams_open = f.streams_open;
  const std::uint64_t well = f.streams_succeeded + f.streams_open;
  s.streams_failed = f.streams_started > well ? f.streams_started - well : 0;
  s.messages_sent = f.messages_sent;
  s.messages_received = f.messages_received;
  s.keepalives_sent = f.keepalives_sent;
  s.last_stream_started = on_the_wall(home, f.last_stream_started);
  s.last_message_sent = on_the_wall(home, f.last_message_sent);
  s.last_message_received = on_the_wall(home, f.last_message_received);
  s.send_window_bytes = f.send_window_bytes;
  s.receive_window_bytes = f.receive_window_bytes;
  return s;
}

}  // namespace coracle::rpc
