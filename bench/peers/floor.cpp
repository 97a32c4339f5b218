// bench_floor PORT: the minimum that a server can do for the generator's requests, to find the kernel's share
// of a result. epoll, one receive and one send for the received bytes; it searches for the ends of requests
// and answers each with the same canned bytes. No HPACK, no flow control, no check.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

using octets = std::string;

octets frame(std::size_t size, char type, char flags, octets payload) {
  octets f = {static_cast<char>(size >> 16), static_cast<char>(size >> 8), static_cast<char>(size), type,
              flags};
  return f + octets(4, '\0') + payload;
}
octets frame(char type, char flags, const octets& payload) {
  return frame(payload.size(), type, flags, payload);
}

const octets head = frame(1, 4, octets("\x88\x0f\x10\x10") + "application/grpc");
octets message() {
  octets m = octets("\0\0\0\0\x66\x0a\x64", 7);
  for (int i = 0; i < 100; ++i) m.push_back(static_cast<char>('a' + i % 26));
  return m;
}
const octets body = frame(0, 0, message());
const octets trailers = frame(1, 5, octets("\0\x0b", 2) + "grpc-status" + octets("\1") + "0");
const octets reply = head + body + trailers;
// SETTINGS, its acknowledgement, and credit that outlasts any run.
const octets greeting = frame(4, 0, {}) + frame(4, 1, {}) + frame(8, 0, octets("\x7f\xff\0\0", 4));

class connection {
 public:
  explicit connection(int descriptor) : descriptor_(descriptor), out_(greeting) { flush(); }
  ~connection() { close(descriptor_); }

  bool readable() {
    const ssize_t n = recv(descriptor_, in_.data() + held_, in_.size() - held_, 0);
    if (n <= 0) return false;
    held_ += static_cast<std::size_t>(n);
    std::size_t at = begun_ ? 0 : preface_bytes;
    if (held_ < at) return true;
    begun_ = true;
    while (held_ - at >= 9) {
      const std::uint8_t* f = in_.data() + at;
      const std::size_t whole = 9 + (std::size_t{f[0]} << 16 | std::size_t{f[1]} << 8 | f[2]);
      if (held_ - at < whole) break;
      if (f[3] == 0 && (f[4] & 1)) answer(f + 5);
      at += whole;
    }
    held_ -= at;
    std::memmove(in_.data(), in_.data() + at, held_);
    return out_.empty() || flush();
  }

 private:
  static constexpr std::size_t preface_bytes = 24;

  void answer(const std::uint8_t* id) {
    const std::size_t start = out_.size();
    out_ += reply;
    for (const std::size_t at : {std::size_t{0}, head.size(), head.size() + body.size()})
      std::memcpy(out_.data() + start + at + 5, id, 4);
  }
  // The generators read what they receive: nothing waits for a full buffer.
  bool flush() {
    const ssize_t n = send(descriptor_, out_.data(), out_.size(), MSG_NOSIGNAL);
    const bool whole = n == static_cast<ssize_t>(out_.size());
    out_.clear();
    return whole;
  }

  int descriptor_;
  bool begun_ = false;
  std::size_t held_ = 0;
  std::array<std::uint8_t, 65536> in_{};
  octets out_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: bench_floor PORT\n", stderr);
    return 2;
  }
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(std::atoi(argv[1])));
  socklen_t size = sizeof address;
  auto* const plain = reinterpret_cast<sockaddr*>(&address);
  if (bind(listener, plain, size) != 0 || listen(listener, 128) != 0 ||
      getsockname(listener, plain, &size) != 0) {
    std::perror("bench_floor");
    return 1;
  }
  std::printf("listening on 127.0.0.1:%u\n", unsigned{ntohs(address.sin_port)});
  std::fflush(stdout);

  const int queue = epoll_create1(0);
  epoll_event wanted{EPOLLIN, {nullptr}};
  epoll_ctl(queue, EPOLL_CTL_ADD, listener, &wanted);
  std::array<epoll_event, 256> ready{};
  for (;;) {
    const int n = epoll_wait(queue, ready.data(), static_cast<int>(ready.size()), -1);
    for (int i = 0; i < n; ++i) {
      auto* const c = static_cast<connection*>(ready[static_cast<std::size_t>(i)].data.ptr);
      if (!c) {
        const int descriptor = accept(listener, nullptr, nullptr);
        const int on = 1;
        setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        wanted.data.ptr = new connection(descriptor);
        epoll_ctl(queue, EPOLL_CTL_ADD, descriptor, &wanted);
      } else if (!c->readable()) {
        delete c;
      }
    }
  }
}
