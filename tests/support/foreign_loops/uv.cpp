#include "support/foreign_loops.hpp"

#include "08_foreign_loop/uv_loop.hpp"

namespace coracle::testing_support {
namespace {
[[maybe_unused]] const auto linked = linked_foreign_loop::of<uv_loop>("uv");
}  // namespace
}  // namespace coracle::testing_support
