// A program with Coracle whose handler passes each note through a plugin with a protobuf of its own. Prints
// both versions.
#include "note.coracle.hpp"

#include <coracle/client.hpp>
#include <coracle/server.hpp>
#include <coracle/testing/service_fixture.hpp>

#include <dlfcn.h>

#include <cstdio>
#include <stdexcept>
#include <string>

namespace {

template <class F>
F* function(void* plugin, const char* name) {
  void* const found = dlsym(plugin, name);
  if (!found) throw std::runtime_error(dlerror());
  return reinterpret_cast<F*>(found);
}

class notes final : public two_versions::rpc::Notes::service {
 public:
  explicit notes(void* plugin)
      : add_number_(function<std::size_t(char*, std::size_t, std::size_t)>(plugin, "add_number")) {}

  coracle::reply<two_versions::Note> Keep(coracle::server_context&, const two_versions::Note& note) override {
    std::string bytes = note.SerializeAsString();
    const std::size_t size = bytes.size();
    bytes.resize(size + 100);
    bytes.resize(add_number_(bytes.data(), size, bytes.size()));
    two_versions::Note kept;
    if (!kept.ParseFromString(bytes)) return coracle::status::internal("the plugin's note cannot be read");
    return kept;
  }

 private:
  std::size_t (*add_number_)(char*, std::size_t, std::size_t);
};

}  // namespace

int main(int, char** argv) {
  void* const plugin = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (!plugin) throw std::runtime_error(dlerror());
  coracle::testing::service_fixture<notes> keeper(plugin);
  two_versions::Note note;
  note.set_text("kept");
  note.add_numbers(1);
  const auto kept = coracle::sync_wait(two_versions::rpc::Notes::stub(keeper.channel()).Keep(note));
  if (!kept) throw std::runtime_error(std::string(kept.status().message()));
  std::printf("%d %d %s %d\n", GOOGLE_PROTOBUF_VERSION, function<int()>(plugin, "version_of_plugin")(),
              kept->text().c_str(), kept->numbers_size());
}
