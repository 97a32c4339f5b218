// echo_fixture: a server with the echo service and a channel to it, over every backend and kind of
// connection.
#pragma once

#include "support/echo_service.hpp"
#include "support/every_backend.hpp"

#include <unistd.h>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

namespace coracle::testing_support {

enum class link_kind { tcp, unix_socket, in_process };

inline std::string name_of(link_kind k) {
  return k == link_kind::tcp ? "tcp" : k == link_kind::unix_socket ? "unix" : "in_process";
}
inline void PrintTo(link_kind k, std::ostream* out) { *out << name_of(k); }

class echo_fixture : public testing::TestWithParam<std::tuple<world_kind, link_kind>> {
 public:
  static std::string case_name(const testing::TestParamInfo<ParamType>& info) {
    return name_of(std::get<0>(info.param)) + "_" + name_of(std::get<1>(info.param));
  }

 protected:
  void SetUp() override {
    if (!world_.get()) GTEST_SKIP() << world_.missing();
    make_server({});
  }
  void TearDown() override {
    channel_.reset();
    server_.reset();
  }

  void make_server(const server_options& options) {
    channel_.reset();
    server_.emplace(rt(), options);
    server_->add(served());
    link();
  }
  // The service of the server: a fixture may have another echo service.
  [[nodiscard]] virtual service& served() noexcept { return service_; }
  // A channel to the server, of the kind that the parameter selects.
  void link() {
    switch (std::get<1>(GetParam())) {
      case link_kind::tcp:
        ASSERT_EQ(server_->listen("127.0.0.1:0", insecure()), status());
        address_ = "127.0.0.1:" + std::to_string(server_->port());
        channel_.emplace(rt(), address_, insecure());
        return;
      case link_kind::unix_socket:
        // The fixtures of other processes may have the same address.
        address_ = "unix-abstract:coracle-e2e-" + std::to_string(getpid()) + "-" +
                   std::to_string(reinterpret_cast<std::uintptr_t>(this));
        ASSERT_EQ(server_->listen(address_, insecure()), status());
        channel_.emplace(rt(), address_, insecure());
        return;
      case link_kind::in_process: channel_.emplace(rt(), server_->in_process()); return;
    }
  }

  [[nodiscard]] runtime& rt() noexcept { return *world_.get(); }
  [[nodiscard]] sim::world* sim_world() noexcept { return world_.simulated(); }
  [[nodiscard]] echo_stub stub() noexcept { return echo_stub(*channel_); }
  template <class T>
  T run(task<T> t) {
    return sync_wait(rt(), rt().at(0), std::move(t));
  }
  static echo::Text text(std::string text, int count = 0) {
    echo::Text t;
    t.set_text(std::move(text));
    t.set_count(count);
    return t;
  }

  any_world world_{std::get<0>(GetParam())};
  echo_service service_;
  std::string address_;
  std::optional<server> server_;
  std::optional<channel> channel_;
};

inline const auto every_world_and_link = testing::Combine(
    all_kinds, testing::Values(link_kind::tcp, link_kind::unix_socket, link_kind::in_process));
inline const auto every_world_over_tcp = testing::Combine(all_kinds, testing::Values(link_kind::tcp));

}  // namespace coracle::testing_support
