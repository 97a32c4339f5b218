#include "support/foreign_loops.hpp"

#include "08_foreign_loop/glib_loop.hpp"

namespace coracle::testing_support {
namespace {
[[maybe_unused]] const auto linked = linked_foreign_loop::of<glib_loop>("glib");
}  // namespace
}  // namespace coracle::testing_support
