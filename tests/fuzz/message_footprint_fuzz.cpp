// Predicts the memory of arbitrary bytes after decoding, as messages of several types. The first byte of the
// input chooses the type, the second where counting stops.
#include "rpc/message_footprint.hpp"

#include <google/protobuf/any.pb.h>
#include <google/protobuf/api.pb.h>
#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/field_mask.pb.h>
#include <google/protobuf/struct.pb.h>
#include <google/protobuf/wrappers.pb.h>

#include <sanitizer/allocator_interface.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>

using namespace coracle;
using rpc::message_footprint;

namespace {

void require(bool fine) {
  if (!fine) std::abort();
}

std::size_t allocations = 0;
const int installed = __sanitizer_install_malloc_and_free_hooks(
    [](const volatile void*, std::size_t) { ++allocations; }, [](const volatile void*) {});

template <class T>
void look_at(bytes_view body, std::size_t enough) {
  // Kept from input to input, as a loop keeps it.
  static message_footprint footprints;
  static const T empty;
  const auto estimate = [body](const rpc::codec& k, std::size_t end) {
    return footprints.estimate(k, rpc::codec_of<T>::address(empty), body, end);
  };
  constexpr std::size_t no_end = std::numeric_limits<std::size_t>::max();
  const std::size_t estimated = estimate(rpc::protobuf_codec, no_end);

  // The message's types are known now. Counting that stops early gives the same up to that point.
  const std::size_t before = allocations;
  require(estimate(rpc::protobuf_codec, no_end) == estimated);
  require(estimate(rpc::protobuf_codec, enough) == std::min(estimated, enough));
  const std::size_t guessed = estimate(rpc::protobuf_lite_codec, no_end);
  require(estimate(rpc::protobuf_lite_codec, enough) == std::min(guessed, enough));
  require(allocations == before);

  // A byte on the wire becomes a limited number of bytes in memory, and no byte is counted that becomes none.
  constexpr std::size_t object_bytes_max = 1024;
  require(estimated <= object_bytes_max * (body.size() + 1) &&
          guessed <= object_bytes_max * (body.size() + 1));

  // A message that takes much memory does not look small: repeated fields hold at most twice what they use,
  // or room for a few elements.
  T message;
  if (!message.ParseFromArray(body.data(), static_cast<int>(body.size()))) return;
  require(message.SpaceUsedLong() <= 4 * estimated + 256);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  require(installed > 0);
  static const auto log = google::protobuf::SetLogHandler(nullptr);
  static_cast<void>(log);
  const bytes_view body(data + 2, size - 2);
  const std::size_t enough = data[1] * std::size_t{16};
  switch (data[0] % 6) {
    case 0: look_at<google::protobuf::FileDescriptorProto>(body, enough); break;
    case 1: look_at<google::protobuf::Struct>(body, enough); break;
    case 2: look_at<google::protobuf::Any>(body, enough); break;
    case 3: look_at<google::protobuf::Api>(body, enough); break;
    case 4: look_at<google::protobuf::FieldMask>(body, enough); break;
    case 5: look_at<google::protobuf::BytesValue>(body, enough); break;
  }
  return 0;
}
