// Every allocation of a server may fail while another process takes over from it: one of the two has the
// sockets, their file and the path, and both know which.
#include "out_of_memory/failing_host.hpp"

#include "coracle/coro/task.hpp"
#include "coracle/server/server.hpp"
#include "runtime/kernel/packet_socket.hpp"

#include <gtest/gtest.h>

#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <semaphore>
#include <string>
#include <string_view>
#include <utility>

namespace coracle::every_handover_allocation_test {
namespace {

using namespace std::chrono_literals;
using namespace test;
namespace kernel = runtime_internal::kernel;

struct scratch_folder {
  scratch_folder() {
    std::string name = (std::filesystem::temp_directory_path() / "handover-XXXXXX").string();
    path = ::mkdtemp(name.data());
  }
  scratch_folder(const scratch_folder&) = delete;
  scratch_folder& operator=(const scratch_folder&) = delete;
  ~scratch_folder() { std::filesystem::remove_all(path); }
  std::filesystem::path path;
};

// The side of the new process, on a thread whose allocations do not fail.
class new_process {
 public:
  enum class end : std::uint8_t {
    ignored,  // has got nothing
    refused,
    mistaken,  // has the sockets, and cannot know whether the old process has them, too
    owner,
  };

  // Returns when the server has heard nonsense, and so has begun to serve the path.
  static void wait_until_served(const std::filesystem::path& path) {
    new_process stranger;
    EXPECT_EQ(stranger.take_over(path, "nonsense"), end::ignored);
  }

  end take_over(const std::filesystem::path& path, std::string_view question = "take 1") {
    connection_ = kernel::owned_descriptor(static_cast<int>(kernel::connect_for_packets(path.string())));
    if (!connection_.is_open()) return end::ignored;
    if (kernel::send_packet(connection_.get(), question) < 0) return end::ignored;
    for (;;) {
      const std::string text = receive();
      if (text.empty()) return listener.is_open() ? end::mistaken : end::ignored;
      if (text.starts_with("refused ")) return end::refused;
      if (text == "done") {
        EXPECT_EQ(receive(), "") << "the server ends the connection when its services have heard of it";
        return end::owner;
      }
      if (text.starts_with("end ")) kernel::send_packet(connection_.get(), "ready 0");
    }
  }

  kernel::owned_descriptor listener;

 private:
  std::string receive() {
    kernel::packet got;
    if (kernel::wait_for_packet(connection_.get(), 10s) < 0) return {};
    if (kernel::receive_packet(connection_.get(), got) <= 0) return {};
    if (got.text.starts_with("socket ")) listener = std::move(got.descriptor);
    return got.text;
  }
  kernel::owned_descriptor connection_;
};

bool accepts(const kernel::owned_descriptor& listener, const std::filesystem::path& file) {
  const kernel::owned_descriptor client(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un to{};
  to.sun_family = AF_UNIX;
  file.string().copy(to.sun_path, sizeof to.sun_path - 1);
  if (::connect(client.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) < 0) return false;
  return kernel::owned_descriptor(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC)).is_open();
}

enum class failing : std::uint8_t { begin, conversation };

// Loop 0 has done what it was told before.
void settle(runtime& rt) {
  std::binary_semaphore settled(0);
  struct program {
    static task<> note(std::binary_semaphore& s) {
      s.release();
      co_return;
    }
  };
  rt.spawn_on(rt.at(0), program::note(settled));
  settled.acquire();
}

std::string play(failing what) {
  const scratch_folder folder;
  const std::filesystem::path path = folder.path / "handover";
  const std::filesystem::path file = folder.path / "listener";
  using end = new_process::end;
  new_process successor;
  {
    runtime rt(1);
    failing_host = &rt;
    server_options options;
    options.handover = handover_options(path.string());
    options.handover->goaway_time = 20ms;
    options.handover->start_time = 10s;
    server s(rt, options);
    if (const status failed = s.listen("unix:" + file.string(), insecure()); !failed.ok())
      return failed.to_string();
    rt.start();
    settle(rt);
    if (what == failing::begin) count_allocations(true);
    s.start();
    if (what == failing::conversation) {
      new_process::wait_until_served(path);
      count_allocations(true);
    }
    end outcome = successor.take_over(path);
    count_allocations(false);
    if (outcome == end::mistaken) return "the successor does not know whether it is the owner";
    if (what == failing::begin && !std::filesystem::exists(path)) return "";  // none can take over
    if (outcome != end::owner) {
      successor = new_process();
      outcome = successor.take_over(path);
      if (outcome != end::owner) return "the server does not go on";
    }
  }
  if (!std::filesystem::exists(file)) return "the file of the successor's socket was removed";
  if (!std::filesystem::exists(path)) return "the successor's path was removed";
  return accepts(successor.listener, file) ? "" : "the successor's socket accepts nothing";
}

void expect_each_may_fail_in(failing what, std::uint64_t count) {
  const auto scenario = [what] { return play(what); };
  ASSERT_EQ(scenario(), "");
  const auto result = fail_each_allocation_anew(scenario, options_for(1, 1));
  EXPECT_TRUE(result.broken.empty()) << result.report();
  EXPECT_GT(result.failed, count);
}

TEST(EveryAllocationOfAHandover, MayFailWhenTheServerBegins) { expect_each_may_fail_in(failing::begin, 25); }
TEST(EveryAllocationOfAHandover, MayFailInTheConversation) {
  expect_each_may_fail_in(failing::conversation, 20);
}

}  // namespace
}  // namespace coracle::every_handover_allocation_test
