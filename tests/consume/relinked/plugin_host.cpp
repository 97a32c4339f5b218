// plugin_host PLUGIN: loads a plugin, and has it make a channel.
#include <dlfcn.h>

#include <cstdio>

extern "C" void use_the_core();

int main(int count, char** words) {
  use_the_core();
  void* const plugin = count == 2 ? ::dlopen(words[1], RTLD_NOW | RTLD_LOCAL) : nullptr;
  if (!plugin) return std::fprintf(stderr, "%s\n", ::dlerror()), 2;
  const auto make_channel = reinterpret_cast<int (*)()>(::dlsym(plugin, "make_channel"));
  return make_channel ? make_channel() : 2;
}
