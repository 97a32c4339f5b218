// fake_text: writes the header with the fakes of a file's services, for tests.
#pragma once

#include <string>

namespace coracle::codegen {

struct file_model;

std::string fake_text(const file_model& file);

}  // namespace coracle::codegen
