// The library's version, as a macro for generated code to assert against and as constants.
#pragma once

#define CORACLE_VERSION_MAJOR 0
#define CORACLE_VERSION_MINOR 1
#define CORACLE_VERSION_PATCH 0

namespace coracle {

// Raised whenever generated code and library headers stop fitting together. protoc-gen-coracle
// writes the number it was built with into each header; a mismatch fails to compile.
inline constexpr int codegen_contract = 2;

inline constexpr const char* version_text = "0.1.0";

}  // namespace coracle
