// compare_command: coracle load compare.
#pragma once

#include "tools/commands.hpp"

namespace coracle::tools::load {

void add_compare(CLI::App& load, action& chosen);

}  // namespace coracle::tools::load
