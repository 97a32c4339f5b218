// The objects of a program are destroyed in any order, as those in static storage are: with calls in
// progress, before and after their runtime.
#include "support/echo_service.hpp"
#include "support/every_backend.hpp"

#include "coracle/client/start.hpp"
#include "coracle/client/then.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace coracle::testing_support::destruction_order_test {
namespace {

using namespace std::chrono_literals;

enum class part { runtime, server, channel, chat, upload, download, unary, timer, future };
constexpr std::array all_parts{part::runtime,  part::server, part::channel, part::chat,  part::upload,
                               part::download, part::unary,  part::timer,   part::future};
using order = std::vector<part>;

echo::Text text(std::string words, int count = 0) {
  echo::Text t;
  t.set_text(std::move(words));
  t.set_count(count);
  return t;
}

// Each part, with a call or a wait in progress that does not end by itself.
struct program {
  explicit program(world_kind kind) : kernel(std::make_unique<any_world>(kind, 2)) {
    if (!kernel->get()) return;
    runtime& rt = *kernel->get();
    serving.emplace(rt);
    serving->add(echoes);
    EXPECT_EQ(serving->listen("127.0.0.1:0", insecure()), status());
    rt.start();
    to.emplace(rt, "127.0.0.1:" + std::to_string(serving->port()), insecure());
    const echo_stub stub(*to);
    chat.emplace(stub.Chat());
    EXPECT_TRUE(sync_wait(chat->write(text("x"))).ok());
    upload.emplace(stub.Collect());
    EXPECT_TRUE(sync_wait(upload->write(text("x"))).ok());
    download.emplace(stub.Repeat(text("x", 1000000)));
    EXPECT_TRUE(sync_wait(download->next()).ok());
    unary = stub.Misbehave(text("hang")).then([this](const result<echo::Text>& r) {
      EXPECT_FALSE(r.ok());
      ++*ended;
    });
    timer = start(rt.at(1), sleep_until(rt.now() + 1h), [this](const outcome<void>&) { ++*ended; });
    reply = stub.Misbehave(text("hang")).future();
  }
  void destroy(part which) {
    switch (which) {
      case part::runtime: kernel.reset(); return;
      case part::server: serving.reset(); return;
      case part::channel: to.reset(); return;
      case part::chat: chat.reset(); return;
      case part::upload: upload.reset(); return;
      case part::download: download.reset(); return;
      case part::unary: unary = started(); return;
      case part::timer: timer = started(); return;
      case part::future: reply = {}; return;
    }
  }

  const std::shared_ptr<std::atomic<int>> ended = std::make_shared<std::atomic<int>>(0);
  echo_service echoes;
  std::unique_ptr<any_world> kernel;
  std::optional<server> serving;
  std::optional<channel> to;
  std::optional<bidi_call<echo::Text, echo::Text>> chat;
  std::optional<client_streaming_call<echo::Text, echo::Text>> upload;
  std::optional<server_streaming_call<echo::Text>> download;
  started unary;
  started timer;
  std::future<result<echo::Text>> reply;
};

// Each part is the first, the last, and before and after each other one.
std::vector<order> orders() {
  std::vector<order> found;
  order one(all_parts.begin(), all_parts.end());
  for (std::size_t i = 0; i < one.size(); ++i) {
    found.push_back(one);
    found.emplace_back(one.rbegin(), one.rend());
    std::rotate(one.begin(), one.begin() + 1, one.end());
  }
  return found;
}

std::string name_of(part which) {
  constexpr std::array names{"runtime",  "server", "channel", "chat",  "upload",
                             "download", "unary",  "timer",   "future"};
  return names[static_cast<std::size_t>(which)];
}

class destruction : public testing::TestWithParam<std::tuple<world_kind, order>> {
 public:
  static std::string case_name(const testing::TestParamInfo<ParamType>& info) {
    const order& parts = std::get<1>(info.param);
    return testing_support::name_of(std::get<0>(info.param)) + "_" + name_of(parts.front()) + "_to_" +
           name_of(parts.back());
  }
};
INSTANTIATE_TEST_SUITE_P(Each, destruction, testing::Combine(kernel_kinds, testing::ValuesIn(orders())),
                         destruction::case_name);

TEST_P(destruction, InAnyOrderEndsEachCallOnce) {
  const auto& [kind, parts] = GetParam();
  std::optional<program> made(std::in_place, kind);
  if (!made->kernel->get()) GTEST_SKIP() << made->kernel->missing();
  const auto ended = made->ended;
  for (const part which : parts) made->destroy(which);
  EXPECT_EQ(*ended, 2);  // the runtime waits for its callbacks
}

}  // namespace
}  // namespace coracle::testing_support::destruction_order_test
