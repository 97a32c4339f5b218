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
  // Step 3: make a connection that all of its calls share, read frames, and spawn answer() for each request, so that a
  // slow call does not hold up the next one.
  task<> serve(descriptor) { co_return; }

 private:
  // What the calls of a connection share.
  struct connection {
    connection(io_loop& on, descriptor s) noexcept : socket(std::move(s)), writing(on) {}
    descriptor socket;
    mutex writing;  // one frame at a time
  };

  // Runs the handler. A method that does not exist is UNIMPLEMENTED; an exception of the handler is UNKNOWN.
  // Step 1: a coroutine cannot await in a catch block.
  task<reply> run_handler(request) { co_return reply(code::unknown, "step 1 is missing"); }

  // Step 2: run the handler, and write the frame of the reply while you hold the mutex. If the write fails, the client has
  // gone, which is no failure of the server.
  task<> answer(std::shared_ptr<connection>, request) { co_return; }

  [[maybe_unused]] io_loop& on_;
  std::map<std::string, handler> handlers_;
};

class client {
 public:
  client(io_loop& on, descriptor socket) noexcept : on_(on), socket_(std::move(socket)), writing_(on) {}

  // Sends the request and waits for the reply. If the connection ends before, the call ends with UNAVAILABLE.
  // Step 5: register a `pending` under a new number before you write the request; then wait for its event.
  task<reply> call(std::string, std::string) { co_return reply(code::unavailable, "step 5 is missing"); }

  // Delivers the replies until the connection ends. Runs beside the calls: spawn it once.
  // Step 6: read frames, and deliver() each. At the end, also after an exception, finish() every call that still waits.
  task<> read_replies() { co_return; }

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
  // Step 4: erase the call from the map before you set its event.
  void finish(std::uint32_t, reply) {}

  [[maybe_unused]] io_loop& on_;
  descriptor socket_;
  mutex writing_;
  [[maybe_unused]] bool ended_ = false;
  [[maybe_unused]] std::uint32_t next_call_ = 1;
  std::map<std::uint32_t, pending*> pending_;
};

}  // namespace lab
