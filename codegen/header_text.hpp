// The text of a generated header.
#pragma once

#include <string>

namespace coracle::codegen {

struct file_model;

std::string header_text(const file_model& file);

}  // namespace coracle::codegen
