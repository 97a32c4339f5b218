// http1_tool: our HTTP/1.1 server engine behind lines of text, for other people's to be compared with.
//
// Each line is what a client sends before it closes its side, in hexadecimal. The answer is a line with a
// word for each complete request, whose parts are hexadecimal (METHOD:SCHEME:AUTHORITY:PATH:A:BODY, A being
// the field "a"), and then "ok", or "failed", the status and the reason.
#include "http1/connection.hpp"

#include <iostream>
#include <string>
#include <string_view>
#include <utility>

namespace {

namespace http1 = coracle::http1;

std::string hex_of(std::string_view bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (const char byte : bytes) {
    text.push_back(digits[static_cast<unsigned char>(byte) >> 4]);
    text.push_back(digits[static_cast<unsigned char>(byte) & 15]);
  }
  return text;
}

std::string bytes_of(std::string_view hex) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes.push_back(static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16)));
  return bytes;
}

// A server that responds to each request when it is complete.
class server {
 public:
  std::string read(std::string bytes) {
    do {
      engine_.feed(coracle::as_bytes(bytes), {});
      take_events();
      bytes = coracle::as_text(engine_.take_unread());
    } while (engine_.exchange_done() && !bytes.empty());
    engine_.feed_end({});
    take_events();
    return said_ + end_;
  }

 private:
  using kind = http1::event::kind;

  void take_events() {
    for (http1::event e; (e = engine_.next()).type != kind::none;) {
      if (e.type == kind::data) body_.append(coracle::as_text(e.data));
      if (e.type == kind::failed) end_ = "failed " + std::to_string(e.status) + " " + std::string(e.reason);
      if (e.type != kind::end) continue;
      for (const char* name : {":method", ":scheme", ":authority", ":path", "a"})
        said_ += hex_of(engine_.fields().find(name).value_or("")) + ":";
      said_ += hex_of(std::exchange(body_, {})) + " ";
      engine_.begin_response(204, {});
      engine_.end_headers();
    }
  }

  http1::connection engine_{http1::role::server, {}, {}};
  std::string body_;
  std::string said_;
  std::string end_ = "ok";
};

}  // namespace

int main() {
  for (std::string line; std::getline(std::cin, line);)
    std::cout << server().read(bytes_of(line)) << std::endl;
  return 0;
}
