// protobuf_log: what libprotobuf itself writes to stderr.
#pragma once

namespace coracle::tools {

// Nothing from now on: a command says what is wrong with a message, in words of its own.
void silence_protobuf();

}  // namespace coracle::tools
