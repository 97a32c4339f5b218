// Channels and servers from a file descriptor.
#include <grpcpp/create_channel_posix.h>
#include <grpcpp/server_posix.h>

#include "adapters/grpcpp/src/client/channel_core.hpp"
#include "adapters/grpcpp/src/process/library_log.hpp"
#include "adapters/grpcpp/src/process/one_process.hpp"
#include "adapters/grpcpp/src/server/server_core.hpp"

#include "coracle/base/log.hpp"
#include "coracle/client/connector.hpp"
#include "coracle/net/stream.hpp"
#include "coracle/security/insecure.hpp"

#include <unistd.h>

#include <atomic>
#include <utility>

namespace grpc {

namespace internal {
namespace {

// Makes one connection, of a descriptor that it owns until then.
class descriptor_connector final : public coracle::connector {
 public:
  explicit descriptor_connector(int descriptor) noexcept : descriptor_(descriptor) {}
  ~descriptor_connector() override { close(descriptor_); }
  coracle::task<coracle::result<std::unique_ptr<coracle::net::byte_stream>>> connect() override {
    const int own = descriptor_.exchange(none);
    if (own == none)
      co_return coracle::status::unavailable("the connection of the channel's descriptor has ended");
    auto adopted = coracle::net::stream::adopt(own);
    if (!adopted) {
      close(own);
      co_return adopted.status();
    }
    co_return coracle::net::to_byte_stream(*std::move(adopted));
  }
  [[nodiscard]] std::string authority() const override { return "localhost"; }

 private:
  static constexpr int none = -1;
  static void close(int descriptor) noexcept {
    if (descriptor != none) ::close(descriptor);
  }
  std::atomic<int> descriptor_;
};

}  // namespace
}  // namespace internal

std::shared_ptr<Channel> CreateCustomInsecureChannelFromFd(const std::string& /*target*/, int fd,
                                                           const ChannelArguments& arguments) {
  internal::require_one_library();
  auto made = std::make_shared<Channel>(std::make_unique<internal::channel_core>(
      std::make_shared<internal::descriptor_connector>(fd), arguments));
  made->core()->has_one_connection();
  made->GetState(true);  // the connection is there
  return made;
}

std::shared_ptr<Channel> CreateInsecureChannelFromFd(const std::string& target, int fd) {
  return CreateCustomInsecureChannelFromFd(target, fd, ChannelArguments());
}

std::shared_ptr<Channel> experimental::CreateCustomInsecureChannelWithInterceptorsFromFd(
    const std::string& target, int fd, const ChannelArguments& arguments,
    std::vector<std::unique_ptr<ClientInterceptorFactoryInterface>> interceptor_creators) {
  auto made = CreateCustomInsecureChannelFromFd(target, fd, arguments);
  made->core()->set_interceptors(std::move(interceptor_creators));
  return made;
}

void AddInsecureChannelFromFd(Server* server, int fd) {
  const coracle::status adopted = server->core().server().adopt(fd, coracle::insecure());
  if (adopted.ok()) return;
  internal::library_log()
      .in(coracle::log_room::adapters)
      .error("grpc++: AddInsecureChannelFromFd(): ", adopted);
  if (fd >= 0) ::close(fd);
}

}  // namespace grpc
