// Remote calls with one request and one reply. Many calls share a connection; a number tells which reply belongs to which.
#pragma once

#include "../../01_event/solution/event.hpp"
#include "../../05_tcp_echo/solution/io_loop.hpp"
#include "../../06_mutex_channel/solution/sync.hpp"
#include "../../07_framing/solution/framing.hpp"

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace lab {

inline constexpr std::size_t message_bytes_max = 1 << 20;

// How a call ended. The values are those of gRPC.
enum class code : unsigned char { ok = 0, unknown = 2, unimplemented = 12, unavailable = 14 };

class reply {
 public:
  reply(code c, std::string t) noexcept : code_(c), text_(std::move(t)) {}
  [[nodiscard]] code outcome() const noexcept { return code_; }
  [[nodiscard]] const std::string& text() const noexcept { return text_; }

 private:
  code code_;
  std::string text_;  // of the reply, or of the error
};

// The messages: a request is the number of its call, the length of the method's name in one byte, the name, and the
// text. A reply is the number, the code in one byte, and the text.
inline std::string request_message(std::uint32_t call, std::string_view method, std::string_view text) {
  return big_endian(call) + static_cast<char>(method.size()) + std::string(method) + std::string(text);
}
inline std::string reply_message(std::uint32_t call, const reply& r) {
  return big_endian(call) + static_cast<char>(r.outcome()) + r.text();
}

class request {
 public:
  // Throws framing_error for what is no request.
  explicit request(std::string_view message) {
    if (message.size() < 5) throw framing_error("a request without a method");
    const auto size = static_cast<unsigned char>(message[4]);
    if (message.size() < 5u + size) throw framing_error("a method's name that is cut off");
    call = from_big_endian(message);
    method = message.substr(5, size);
    text = message.substr(5u + size);
  }
  std::uint32_t call = 0;
  std::string method;
  std::string text;
};

class server {
 public:
  using handler = std::function<task<std::string>(std::string)>;

  explicit server(io_loop& on) noexcept : on_(on) {}
  void add(std::string method, handler h) { handlers_.emplace(std::move(method), std::move(h)); }

  // Serves a connection until its client closes it. Calls that still run then, run on.
  task<> serve(descriptor socket) {
    const auto to = std::make_shared<connection>(on_, std::move(socket));
    frame_reader frames(message_bytes_max);
    char room[4096];
    for (;;) {
      const std::size_t n = co_await read(on_, to->socket.get(), room);
      if (n == 0) co_return;
      frames.feed(std::string_view(room, n));
      while (const std::optional<std::string> message = frames.next())
        on_.spawn(answer(to, request(*message)));
    }
  }

 private:
  // What the calls of a connection share.
  struct connection {
    connection(io_loop& on, descriptor s) noexcept : socket(std::move(s)), writing(on) {}
    descriptor socket;
    mutex writing;  // one frame at a time
  };

  // Runs the handler. A method that does not exist is UNIMPLEMENTED; an exception of the handler is UNKNOWN.
  task<reply> run_handler(request r) {
    const auto found = handlers_.find(r.method);
    if (found == handlers_.end()) co_return reply(code::unimplemented, "no method " + r.method);
    std::string error;
    try {
      std::string text = co_await found->second(std::move(r.text));
      co_return reply(code::ok, std::move(text));
    } catch (const std::exception& e) {
      error = e.what();
    }
    co_return reply(code::unknown, std::move(error));
  }

  task<> answer(std::shared_ptr<connection> to, request r) {
    const std::uint32_t call = r.call;
    const reply result = co_await run_handler(std::move(r));
    const std::string framed = frame(reply_message(call, result));
    const mutex::guard held = co_await to->writing.lock();
    try {
      co_await write_all(on_, to->socket.get(), framed);
    } catch (const std::system_error&) {
      // The client has gone: there is no one to reply to.
    }
  }

  io_loop& on_;
  std::map<std::string, handler> handlers_;
};

class client {
 public:
  client(io_loop& on, descriptor socket) noexcept : on_(on), socket_(std::move(socket)), writing_(on) {}

  // Sends the request and waits for the reply. If the connection ends before, the call ends with UNAVAILABLE.
  task<reply> call(std::string method, std::string text) {
    if (ended_) co_return reply(code::unavailable, "the connection has ended");
    pending waiting;
    const std::uint32_t number = next_call_++;
    pending_.emplace(number, &waiting);
    const std::string framed = frame(request_message(number, method, text));
    bool sent = true;
    {
      const mutex::guard held = co_await writing_.lock();
      try {
        co_await write_all(on_, socket_.get(), framed);
      } catch (const std::system_error&) {
        sent = false;
      }
    }
    if (!sent && pending_.erase(number) > 0) co_return reply(code::unavailable, "the request was not sent");
    co_await waiting.answered;
    co_return std::move(waiting.result);
  }

  // Delivers the replies until the connection ends. Runs beside the calls: spawn it once.
  task<> read_replies() {
    frame_reader frames(message_bytes_max);
    char room[4096];
    try {
      for (;;) {
        const std::size_t n = co_await read(on_, socket_.get(), room);
        if (n == 0) break;
        frames.feed(std::string_view(room, n));
        while (const std::optional<std::string> message = frames.next()) deliver(*message);
      }
    } catch (const std::exception&) {
      // A broken connection, or bytes that are no reply: no further reply can be read.
    }
    ended_ = true;
    while (!pending_.empty())
      finish(pending_.begin()->first, reply(code::unavailable, "the connection has ended"));
  }

  // Ends the connection.
  void close() noexcept { ::shutdown(socket_.get(), SHUT_RDWR); }

 private:
  // A call that waits; in the frame of call().
  struct pending {
    event answered;
    reply result{code::unknown, ""};
  };

  void deliver(std::string_view message) {
    if (message.size() < 5) throw framing_error("a reply without a code");
    finish(from_big_endian(message), reply(static_cast<code>(message[4]), std::string(message.substr(5))));
  }

  // Ends the call of this number, if it waits. The call continues inside set(), and may begin another one.
  void finish(std::uint32_t number, reply result) {
    const auto found = pending_.find(number);
    if (found == pending_.end()) return;
    pending& waiting = *found->second;
    pending_.erase(found);
    waiting.result = std::move(result);
    waiting.answered.set();
  }

  io_loop& on_;
  descriptor socket_;
  mutex writing_;
  bool ended_ = false;
  std::uint32_t next_call_ = 1;
  std::map<std::uint32_t, pending*> pending_;
};

}  // namespace lab
