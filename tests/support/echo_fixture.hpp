// echo_fixture: a server with the echo service and a channel to it, over every backend and kind of
// connection.
#pragma once

#include "support/echo_world.hpp"

#include <unistd.h>
#include <cstdint>
#include <ostream>
#include <string>
#include <tuple>

namespace coracle::testing_support {

enum class link_kind { tcp, unix_socket, in_process };

inline std::string name_of(link_kind k) {
  return k == link_kind::tcp ? "tcp" : k == link_kind::unix_socket ? "unix" : "in_process";
}
inline void PrintTo(link_kind k, std::ostream* out) { *out << name_of(k); }

class echo_fixture : public ::testing::TestWithParam<std::tuple<world_kind, link_kind>>,
                     protected echo_world {
 public:
  static std::string case_name(const ::testing::TestParamInfo<ParamType>& info) {
    return name_of(std::get<0>(info.param)) + "_" + name_of(std::get<1>(info.param));
  }

 protected:
  echo_fixture() : echo_world(std::get<0>(GetParam())) {}
  void SetUp() override {
    if (!world_.get()) GTEST_SKIP() << world_.missing();
    make_server({});
  }
  void TearDown() override { close(); }

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
        address_ = tcp_address();
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

  echo_service service_;
  std::string address_;
};

inline const auto every_world_and_link = ::testing::Combine(
    all_kinds, ::testing::Values(link_kind::tcp, link_kind::unix_socket, link_kind::in_process));
// Where code takes real time, and a process has figures of the kernel.
inline const auto every_kernel_over_tcp = ::testing::Combine(kernel_kinds, ::testing::Values(link_kind::tcp));
inline const auto simulation_over_tcp =
    ::testing::Combine(::testing::Values(world_kind::sim), ::testing::Values(link_kind::tcp));
inline const auto every_world_over_tcp = ::testing::Combine(all_kinds, ::testing::Values(link_kind::tcp));

}  // namespace coracle::testing_support
