// copy_file: copies a file with two buffers: one is written while the next is read.
#include "../command_line.hpp"

#include <coracle/runtime.hpp>

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

namespace {

namespace net = coracle::net;
using coracle::task;

constexpr std::size_t buffer_bytes = 1 << 20;

// --8<-- [start:copy]
task<std::uint64_t> copy_all(net::file& from, net::file& to) {
  std::vector<std::uint8_t> full(buffer_bytes);
  std::vector<std::uint8_t> free(buffer_bytes);
  std::uint64_t copied = 0;
  coracle::result<std::size_t> n = co_await from.read(full);
  while (n.value() > 0) {
    auto both = co_await coracle::when_all(to.write(coracle::bytes_view(full).first(*n)), from.read(free));
    if (const coracle::status& written = std::get<0>(both); !written.ok())
      throw coracle::status_error(written);
    copied += *n;
    n = std::get<1>(both);
    std::swap(full, free);
  }
  co_return copied;
}
// --8<-- [end:copy]

task<> copy(std::string from_path, std::string to_path) {
  coracle::result<net::file> from = co_await net::file::open(from_path);
  constexpr net::file_options new_file{.read = false, .write = true, .create_new = true};
  coracle::result<net::file> to = co_await net::file::open(to_path, new_file);
  const std::uint64_t copied = co_await copy_all(from.value(), to.value());
  const coracle::status on_disk = co_await to->sync();
  if (!on_disk.ok()) throw coracle::status_error(on_disk);
  const coracle::result<std::uint64_t> expected_size = co_await from->size();
  const coracle::result<std::uint64_t> size = co_await to->size();
  if (size.value() != copied || expected_size.value() != copied)
    throw coracle::status_error(coracle::status::data_loss("the copy is not as long as the file"));
  std::printf("copied %llu bytes\n", static_cast<unsigned long long>(copied));
}

}  // namespace

int main(int argc, char** argv) {
  return examples::run("copy_file", [&] {
    const examples::command_line line(argc, argv, "FROM TO");
    coracle::runtime loops;
    coracle::sync_wait(loops, copy(line.words()[0], line.words()[1]));
    return 0;
  });
}
