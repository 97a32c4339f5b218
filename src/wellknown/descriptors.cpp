#include "wellknown/descriptors.hpp"

namespace coracle::wellknown {

namespace {

constexpr unsigned char bytes[] = {
#include "wellknown/descriptor_bytes.inc"
};

}  // namespace

std::string_view descriptors() noexcept { return {reinterpret_cast<const char*>(bytes), sizeof bytes}; }

}  // namespace coracle::wellknown
