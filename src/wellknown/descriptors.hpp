// The descriptors of gRPC's own services as others know them, which no descriptor pool of this program has.
#pragma once

#include <string_view>

namespace coracle::wellknown {

// A serialized google.protobuf.FileDescriptorSet: each file stands behind those that it imports.
[[nodiscard]] std::string_view descriptors() noexcept;

}  // namespace coracle::wellknown
