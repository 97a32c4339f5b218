// bench_echo_uring PORT BUFSIZE: the lower bound of an echo over io_uring: multishot accept and receive,
// provided buffers, replies sent from them, one system call per turn.
#include "peers/listening_socket.hpp"

#include <liburing.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cerrno>
#include <cstdint>
#include <vector>

namespace {

constexpr unsigned buffers = 128;  // of 16 KiB: measured cheaper than more, since they stay in the cache
constexpr unsigned submissions = 1024;
constexpr unsigned completions = 4096;

enum class step : std::uint64_t { accept, receive, send };

// The data of a request: the step, the connection, and the buffer that is being sent with its size.
struct mark {
  step kind;
  int connection;
  unsigned buffer;
};
std::uint64_t pack(mark m) {
  return static_cast<std::uint64_t>(m.kind) << 62 | std::uint64_t{m.buffer} << 32 |
         static_cast<std::uint32_t>(m.connection);
}
mark unpack(std::uint64_t data) {
  return {static_cast<step>(data >> 62), static_cast<int>(static_cast<std::uint32_t>(data)),
          static_cast<unsigned>(data >> 32 & 0x3fffffff)};
}

class echo_server {
 public:
  echo_server(int listener, unsigned buffer_bytes) : listener_(listener), buffer_bytes_(buffer_bytes) {
    io_uring_params p{};
    p.flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_CQSIZE;
    p.cq_entries = completions;
    if (const int error = io_uring_queue_init_params(submissions, &ring_, &p); error < 0) fail("ring", error);
    io_uring_register_ring_fd(&ring_);
    provide_buffers();
  }

  [[noreturn]] void run() {
    accept_more();
    while (true) {
      io_uring_submit_and_wait(&ring_, 1);
      unsigned head = 0;
      unsigned taken = 0;
      io_uring_cqe* c = nullptr;
      io_uring_for_each_cqe(&ring_, head, c) {
        take(*c);
        ++taken;
      }
      io_uring_cq_advance(&ring_, taken);
    }
  }

 private:
  [[noreturn]] static void fail(const char* text, int error) {
    std::fprintf(stderr, "bench_echo_uring: %s: error %d\n", text, -error);
    std::exit(1);
  }

  void provide_buffers() {
    void* const p = ::mmap(nullptr, buffers * sizeof(io_uring_buf), PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    given_ = static_cast<io_uring_buf_ring*>(p);
    bytes_.resize(std::size_t{buffers} * buffer_bytes_);
    io_uring_buf_reg where{};
    where.ring_addr = reinterpret_cast<std::uintptr_t>(p);
    where.ring_entries = buffers;
    io_uring_buf_ring_init(given_);
    if (const int error = io_uring_register_buf_ring(&ring_, &where, 0); error < 0) fail("buffers", error);
    for (unsigned id = 0; id < buffers; ++id) give_back(id);
  }
  void give_back(unsigned id) {
    io_uring_buf_ring_add(given_, at(id), buffer_bytes_, static_cast<unsigned short>(id),
                          io_uring_buf_ring_mask(buffers), 0);
    io_uring_buf_ring_advance(given_, 1);
  }
  [[nodiscard]] char* at(unsigned id) { return bytes_.data() + std::size_t{id} * buffer_bytes_; }

  io_uring_sqe& entry() {
    io_uring_sqe* e = io_uring_get_sqe(&ring_);
    while (!e) {
      io_uring_submit(&ring_);
      e = io_uring_get_sqe(&ring_);
    }
    return *e;
  }
  void accept_more() {
    io_uring_sqe& e = entry();
    io_uring_prep_multishot_accept(&e, listener_, nullptr, nullptr, 0);
    e.user_data = pack({step::accept, 0, 0});
  }
  void receive_from(int connection) {
    io_uring_sqe& e = entry();
    io_uring_prep_recv_multishot(&e, connection, nullptr, 0, 0);
    e.flags |= IOSQE_BUFFER_SELECT;
    e.buf_group = 0;
    e.user_data = pack({step::receive, connection, 0});
  }
  void send_to(int connection, unsigned buffer, int size) {
    io_uring_sqe& e = entry();
    io_uring_prep_send(&e, connection, at(buffer), static_cast<std::size_t>(size),
                       MSG_WAITALL | MSG_NOSIGNAL);
    e.user_data = pack({step::send, connection, buffer});
  }

  void take(const io_uring_cqe& c) {
    const mark m = unpack(c.user_data);
    switch (m.kind) {
      case step::accept:
        if (c.res >= 0) receive_from(c.res);
        if (!(c.flags & IORING_CQE_F_MORE)) accept_more();
        return;
      case step::receive: return received(m.connection, c);
      case step::send: return give_back(m.buffer);
    }
  }
  void received(int connection, const io_uring_cqe& c) {
    if (c.res > 0) send_to(connection, c.flags >> IORING_CQE_BUFFER_SHIFT, c.res);
    if (c.flags & IORING_CQE_F_MORE) return;
    if (c.res > 0 || c.res == -ENOBUFS) receive_from(connection);
    else ::close(connection);
  }

  io_uring ring_{};
  int listener_;
  unsigned buffer_bytes_;
  io_uring_buf_ring* given_ = nullptr;
  std::vector<char> bytes_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("usage: bench_echo_uring PORT BUFSIZE\n", stderr);
    return 2;
  }
  const int listener = bench::listening_socket(argv[1], 0);
  echo_server(listener, static_cast<unsigned>(std::atol(argv[2]))).run();
}
