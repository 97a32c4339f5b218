// version: the version of the library, as macros for generated code and as constants.
#pragma once

#include "coracle/base/impl/requirements.hpp"

#define CORACLE_VERSION_MAJOR 0
#define CORACLE_VERSION_MINOR 4
#define CORACLE_VERSION_PATCH 0

namespace coracle {

/// The version of the contract between generated code and the library's headers. It is incremented when the
/// two become incompatible. protoc-gen-coracle writes the number it was built with into each header, and a
/// mismatch is a compile error.
inline constexpr int codegen_contract = 3;

/// The version of the library as text.
inline constexpr const char* version_text = "0.4.0-dev";

}  // namespace coracle
