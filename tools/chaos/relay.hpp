// relay: a connection between a client and a server with the faults of its plan.
#pragma once

#include "tools/chaos/fault_plan.hpp"
#include "tools/chaos/frame_cutter.hpp"
#include "tools/chaos/impostor.hpp"

#include <coracle/base/clock.hpp>
#include <coracle/coro/event.hpp>
#include <coracle/coro/queue.hpp>
#include <coracle/coro/scope.hpp>
#include <coracle/coro/task.hpp>
#include <coracle/net/stream.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>

namespace coracle::tools::chaos {

// Hears of each fault that occurs. `what`: a few words more; may be empty.
using fault_listener = std::function<void(fault_kind, std::string_view what)>;

// Passes the bytes of both directions on, one direction beside the other. Where the client speaks HTTP/2
// without TLS, faults of frames stand between the frames. Where it begins a TLS handshake, the relay may
// answer in place of the server: that gets nothing then, and the client nothing of it, not even its end.
class relay {
 public:
  // What has been read and not yet been written, in each direction; the other side waits beyond that.
  static constexpr std::size_t pieces_max = 64;
  static constexpr std::size_t piece_bytes = 16 * 1024;

  // authority: of impostors; may be null if no fault is a certificate. It must outlive the relay.
  relay(net::stream client, net::stream server, fault_plan plan, const impostor_authority* authority,
        time_point start, fault_listener hear);
  // Ends when both sides have closed the connection, or a fault has. The streams are closed then.
  task<> run();
  // Whether the client has taken an impostor for its server.
  [[nodiscard]] bool is_deceived() const noexcept { return impostor_ && impostor_->is_accepted(); }

 private:
  struct piece {
    std::string bytes;
    time_point due{};
    bool is_between = false;  // what follows it begins a frame
  };
  struct side {
    explicit side(net::stream s) : connection(std::move(s)) {}
    net::stream connection;
    queue<piece> to_write{pieces_max};
    std::string pending;  // frames of our own, for the next place between two frames
    bool is_between = false;  // what was written ends a frame
  };
  struct flow {
    direction to;
    side& from;
    side& into;
    frame_cutter frames{};
    bool is_cut = false;  // frames are looked at one by one
    bool drops = false;  // the frame that is passing
    std::uint64_t position = 0;
    time_point last_due{};
  };

  task<> read(flow& f);
  task<> write(side& to);
  task<> send(flow& f, std::string bytes, bool is_between);
  task<> occur();
  // Of a client whose TLS handshake has a fault. Returns what passes to the server: nothing, or all, if the
  // client does not begin a handshake.
  task<std::string> answer_handshake(std::string_view bytes);
  task<> impersonate(std::string_view bytes);
  void end_handshake();  // the client has ended the connection
  void tell_verdict();
  // Both sides are told of an end, after what they have been sent. What else they send is dropped, because
  // the kernel would reset a connection with bytes that were not read.
  void cut_off();
  [[nodiscard]] bool drops_all() const noexcept { return is_stalled_ || is_cut_off_; }
  // Also what the server sends to a client that an impostor answers, and its end: the client would take both
  // for the impostor's.
  [[nodiscard]] bool drops(const flow& f) const noexcept {
    return drops_all() || (impostor_ && f.to == direction::to_client);
  }
  // Whether the end of this flow is for the client is not known before the client has begun a handshake.
  [[nodiscard]] bool awaits_greeting(const flow& f) const noexcept;
  void end_if_over() noexcept;
  // Of a client that speaks HTTP/2: what of the bytes passes, with frames of our own. `up_to` gets the length
  // after which a frame begins.
  std::string cut(flow& f, std::string_view bytes, std::size_t& up_to);
  void see_preface(std::string_view bytes);
  [[nodiscard]] bool has_preface() const noexcept;
  [[nodiscard]] bool drops_frame(const flow& f) const;
  void reset_if_chosen(flow& f, std::string& out);
  // Writes a frame of our own as soon as another one has ended.
  void insert(side& to, std::string_view frame);
  [[nodiscard]] duration now() const;
  void end() noexcept;

  side client_;
  side server_;
  flow to_server_{direction::to_server, client_, server_};
  flow to_client_{direction::to_client, server_, client_};
  fault_plan plan_;
  const impostor_authority* const authority_;
  const time_point start_;
  fault_listener hear_;
  scope* work_ = nullptr;
  bool has_handshake_fault_;
  std::string greeting_;  // of a client of which it is not known yet whether it begins a handshake
  event<> greeting_known_;
  std::unique_ptr<impostor> impostor_;  // null: none yet
  std::size_t preface_seen_ = 0;
  bool speaks_frames_ = true;  // as far as is known
  bool is_stalled_ = false;
  bool is_cut_off_ = false;
  bool is_reset_ = false;
  int readers_ended_ = 0;
  int writers_ended_ = 0;
  bool heads_end_stream_ = false;  // the header block of the server that passes, or passed last
  std::set<std::uint32_t> reset_;  // streams
  std::string resets_;  // for the server: frames after all that was read of the client
};

}  // namespace coracle::tools::chaos
