// file_server: gives and takes the files of a folder.
#include "../command_line.hpp"
#include "transfer.hpp"

#include <coracle/server.hpp>

#include <cstdio>
#include <string>
#include <utility>

namespace {

namespace net = coracle::net;

class folder final : public files::rpc::Files::service {
 public:
  explicit folder(std::string path) : path_(std::move(path)) {}

  coracle::replies<files::Piece> Get(coracle::server_context&, const files::Name& file_name) override {
    auto file = co_await net::file::open(path_of(file_name.name()));
    auto out = co_await coracle::replies<files::Piece>::writer();
    co_await transfer::send_file(file.value(), out);
    co_return coracle::ok;
  }

  coracle::reply<files::Size> Put(coracle::server_context&, coracle::reader<files::Piece> pieces) override {
    files::Piece first;
    if (!co_await pieces.read(first)) co_return coracle::status::invalid_argument("no piece came");
    constexpr net::file_options new_file{.read = false, .write = true, .create_new = true};
    auto file = co_await net::file::open(path_of(first.name()), new_file);
    files::Size size;
    size.set_bytes(co_await transfer::receive_file(pieces, file.value(), std::move(first)));
    co_return size;
  }

 private:
  // Throws for a name that leads out of the folder, or to nothing.
  [[nodiscard]] std::string path_of(const std::string& name) const {
    if (name.empty() || name.front() == '.' || name.find('/') != name.npos || name.find('\0') != name.npos)
      throw coracle::status_error(coracle::status::invalid_argument("this is not a valid file name"));
    return path_ + "/" + name;
  }

  const std::string path_;
};

}  // namespace

int main(int argc, char** argv) {
  return examples::run("file_server", [&] {
    const examples::command_line line(argc, argv, "--port=PORT FOLDER");
    folder service(line.words()[0]);
    coracle::server server;
    server.add(service);
    const auto address = "127.0.0.1:" + std::to_string(line.port("port"));
    server.listen(address, coracle::insecure()).throw_if_error();
    std::printf("listening on 127.0.0.1:%u\n", unsigned{server.port()});
    std::fflush(stdout);
    return server.run();
  });
}
