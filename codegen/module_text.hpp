// module_text: writes the module interface that exports what the headers of a .proto declare.
#pragma once

#include <string>

namespace coracle::codegen {

struct file_model;

std::string module_text(const file_model& file);

}  // namespace coracle::codegen
