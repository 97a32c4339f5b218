// header_text: writes the text of a generated header.
#pragma once

#include <string>

namespace coracle::codegen {

struct file_model;
struct service_model;

std::string header_text(const file_model& file);

// Calls `add` for each service, inside the namespace of the file's services. Adds nothing if there are no
// services.
void add_in_namespace(std::string& to, const file_model& file,
                      void (*add)(std::string& to, const service_model& service));

}  // namespace coracle::codegen
