// The canary: a planted bug that the fuzzing setup must find within seconds. If it were not found, the
// silence of the other fuzzers would mean nothing.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (size >= 4 && text[0] == 'b' && text[1] == 'i' && text[2] == 'r' && text[3] == 'd') std::abort();
  return 0;
}
