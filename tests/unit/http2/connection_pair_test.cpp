// The engines of a client and a server in long random conversations, from seeds.
#include "base/output_buffer.hpp"
#include "hpack/encoder.hpp"
#include "http2/connection.hpp"
#include "support/http2/flow_auditor.hpp"

#include <gtest/gtest.h>
#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <string>

namespace coracle::http2::connection_pair_test {
namespace {

using kind = event::kind;

// Octets that depend on their position, so that loss, repetition and reordering are detected.
char octet(stream_id id, std::size_t at) { return static_cast<char>(id * 31 + at * 7 + at / 251); }

// The path of each request contains the length of its body; the server echoes the body while it receives it
// and then sends trailers. Both sides check every octet.
class conversation {
 public:
  explicit conversation(unsigned seed)
      : random_(seed),
        client_(role::client, random_limits(), now_),
        server_(role::server, random_limits(), now_) {}

  void run(int calls) {
    calls_left_ = calls;
    for (int idle = 0; idle < 50;) {
      const bool moved = step();
      idle = moved || calls_left_ > 0 ? 0 : idle + 1;
      ASSERT_FALSE(client_.failed() || server_.failed());
      ASSERT_LT(++steps_, 2'000'000) << "it got stuck";
    }
    EXPECT_TRUE(calls_.empty());
    EXPECT_TRUE(echoes_.empty());
    EXPECT_EQ(client_.open_streams(), 0u);
    EXPECT_EQ(server_.open_streams(), 0u);
  }
  int finished = 0, cut_short = 0;

 private:
  struct call {
    stream_ref stream = no_stream;
    stream_id id = 0;
    std::size_t body_bytes = 0;
    std::size_t sent = 0;
    std::size_t received = 0;
  };
  struct echo {
    std::string back;  // came in and has not been sent back
    std::size_t received = 0;
    std::size_t unconsumed = 0;
    bool ended = false;
  };

  std::size_t dice(std::size_t sides) { return random_() % sides; }
  limits random_limits() {
    limits l;
    const std::uint32_t windows[] = {1, 100, 65535, 1u << 20};
    l.initial_window_bytes = windows[dice(4)];
    l.connection_window_bytes = dice(2) ? 65535 : 1u << 20;
    l.max_concurrent_streams = static_cast<std::uint32_t>(1 + dice(20));
    l.header_table_bytes = dice(2) ? 4096 : static_cast<std::uint32_t>(dice(300));
    l.encoder_table_bytes = dice(2) ? 4096 : static_cast<std::uint32_t>(dice(300));
    l.control_frames_burst = l.resets_burst = l.early_resets_burst = 1u << 30;  // floods are tested elsewhere
    return l;
  }

  bool step() {
    bool moved = false;
    if (calls_left_ > 0 && dice(3) == 0) moved |= open();
    if (!calls_.empty()) {
      auto at = calls_.begin();
      std::advance(at, static_cast<long>(dice(calls_.size())));
      moved |= go_on(at->second);
    }
    return moved | wire();
  }
  bool open();
  bool wire();
  void fly(connection& from, connection& to, std::string& pipe, test::flow_auditor& of_from,
           test::flow_auditor& of_to, bool to_server);

  bool go_on(call& c);
  void on_client(const event& e);
  void on_server(const event& e);
  void send_back(stream_ref s, echo& e);
  bool send(connection& c, stream_ref s, const std::string& bytes, bool end);

  std::mt19937 random_;
  time_point now_{};
  connection client_;
  connection server_;
  test::flow_auditor client_flow_, server_flow_;
  std::string to_server_, to_client_;
  std::map<stream_ref, call> calls_;
  std::map<stream_ref, echo> echoes_;
  int calls_left_ = 0;
  int steps_ = 0;
};

bool conversation::send(connection& c, stream_ref s, const std::string& bytes, bool end) {
  if (dice(2) && bytes.size() <= 16384) {
    if (std::uint8_t* const to = c.reserve_data(s, bytes.size())) {
      std::memcpy(to, bytes.data(), bytes.size());
      c.commit_data(s, bytes.size(), end);
      return true;
    }
  }
  std::unique_ptr<std::uint8_t[]> copy(new std::uint8_t[bytes.size()]);
  std::memcpy(copy.get(), bytes.data(), bytes.size());
  return c.queue_data(s, std::move(copy), bytes.size(), end);
}

bool conversation::open() {
  const stream_ref s = client_.open(nullptr);
  if (s == no_stream) {
    EXPECT_FALSE(client_.can_open());
    return false;
  }
  --calls_left_;
  call& c = calls_[s];
  c.stream = s;
  const std::size_t sizes[] = {0, 1, 50, 3000, 70000};
  c.body_bytes = dice(sizes[dice(5)] + 1);
  EXPECT_TRUE(client_.begin_headers(s));
  client_.add_field(":method", "POST");
  client_.add_field(":scheme", "http");
  client_.add_field(":path", "/" + std::to_string(dice(5)));
  client_.add_field("x-length", std::to_string(c.body_bytes), connection::indexing::no_index);
  client_.add_field("x-filler", std::string(dice(4) ? dice(50) : dice(3000), 'f'));
  client_.end_headers(false);
  c.id = client_.id_of(s);
  return true;
}

// The client sends the next piece of a body, or cancels the call.
bool conversation::go_on(call& c) {
  if (dice(2000) == 0) {
    ++cut_short;
    const stream_ref s = c.stream;
    client_.reset(s, error_code::cancel);
    client_.release(s);
    calls_.erase(s);
    return true;
  }
  if (!client_.can_send(c.stream) || client_.queued(c.stream) > 20000) return false;
  std::string bytes(dice(std::min<std::size_t>(c.body_bytes - c.sent, 30000) + 1), '\0');
  for (char& b : bytes) b = octet(c.id, c.sent++);
  EXPECT_TRUE(send(client_, c.stream, bytes, c.sent == c.body_bytes && dice(2)));
  return true;
}

void conversation::on_client(const event& e) {
  if (e.stream == no_stream) return;
  call& c = calls_.at(e.stream);
  if (e.type == kind::headers) {
    for (field f; client_.next_field(f);) continue;
    EXPECT_TRUE(client_.headers_ok());
  } else if (e.type == kind::data) {
    for (std::size_t i = 0; i < e.data.size(); ++i)
      if (static_cast<char>(e.data[i]) != octet(c.id, c.received + i)) {
        ADD_FAILURE() << "wrong octet " << c.received + i << " of stream " << c.id;
        break;
      }
    c.received += e.data.size();
    client_.consume(e.stream, e.data.size());
  } else if (e.type != kind::reset) {
    return;
  }
  if (e.type == kind::reset) ++cut_short;
  if (!e.end_stream && e.type != kind::reset) return;
  if (e.end_stream) {
    EXPECT_EQ(c.received, c.body_bytes);
    ++finished;
  }
  client_.release(e.stream);
  calls_.erase(e.stream);
}

void conversation::on_server(const event& e) {
  if (e.stream == no_stream) return;
  echo& x = echoes_[e.stream];
  if (e.type == kind::headers) {
    for (field f; server_.next_field(f);) continue;
    EXPECT_TRUE(server_.headers_ok());
    x = {};
    EXPECT_TRUE(server_.begin_headers(e.stream));
    server_.add_field(":status", "200");
    server_.add_field("x-any", std::to_string(dice(40)));
    server_.end_headers(false);
  } else if (e.type == kind::data) {
    for (std::size_t i = 0; i < e.data.size(); ++i)
      if (static_cast<char>(e.data[i]) != octet(e.id, x.received + i)) {
        ADD_FAILURE() << "wrong octet " << x.received + i << " of stream " << e.id;
        break;
      }
    x.received += e.data.size();
    x.back.append(as_text(e.data));
    x.unconsumed += e.data.size();
  } else if (e.type == kind::reset) {
    server_.release(e.stream);
    echoes_.erase(e.stream);
    return;
  }
  x.ended |= e.end_stream;
  if (server_.queued(e.stream) > 20000) return server_.want_writable(e.stream, dice(20000));
  send_back(e.stream, x);
}

void conversation::send_back(stream_ref s, echo& x) {
  EXPECT_TRUE(send(server_, s, x.back, false));
  x.back.clear();
  server_.consume(s, x.unconsumed);
  x.unconsumed = 0;
  if (!x.ended) return;
  const auto trailers = hpack::stateless_encoder::encode_block({{"grpc-status", "0"}});
  EXPECT_TRUE(server_.send_block(s, trailers, true));
  server_.release(s);
  echoes_.erase(s);
}

// Moves octets: all of them, or as few as one.
void conversation::fly(connection& from, connection& to, std::string& pipe, test::flow_auditor& of_from,
                       test::flow_auditor& of_to, bool to_server) {
  if (dice(3) == 0) from.produce(dice(2) ? 256u << 10 : 1 + dice(5000));
  of_from.on_sent(from.output().pending());
  pipe.append(as_text(from.output().pending()));
  from.output().clear();
  const std::size_t n = dice(4) ? pipe.size() : std::min(pipe.size(), 1 + dice(40));
  const std::unique_ptr<std::uint8_t[]> piece(new std::uint8_t[n]);
  std::memcpy(piece.get(), pipe.data(), n);
  pipe.erase(0, n);
  of_to.on_received({piece.get(), n});
  to.feed({piece.get(), n}, now_);
  for (event e = to.next(); e.type != kind::none; e = to.next()) to_server ? on_server(e) : on_client(e);
}

bool conversation::wire() {
  fly(client_, server_, to_server_, client_flow_, server_flow_, true);
  fly(server_, client_, to_client_, server_flow_, client_flow_, false);
  return !to_server_.empty() || !to_client_.empty() || client_.has_queued() || server_.has_queued() ||
         !calls_.empty();
}

TEST(Http2Pair, RandomConversationsLoseNothingAndKeepToTheWindows) {
  int finished = 0, cut_short = 0;
  for (unsigned seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    conversation c(seed);
    c.run(60);
    finished += c.finished;
    cut_short += c.cut_short;
    if (HasFatalFailure()) break;
  }
  EXPECT_EQ(finished + cut_short, 40 * 60);
  EXPECT_GT(finished, 1800);
  EXPECT_GT(cut_short, 10);
}

}  // namespace
}  // namespace coracle::http2::connection_pair_test
