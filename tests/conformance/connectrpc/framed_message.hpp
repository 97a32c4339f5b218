// Messages between the conformance suite and a program under test: four bytes of length, most significant
// first, then the protobuf message.
#pragma once

#include <google/protobuf/message_lite.h>

#include <cstdio>

namespace conformance {

// Blocks. Returns false at the end of the input; throws std::runtime_error if the input ends within a
// message.
bool read_framed(std::FILE* from, google::protobuf::MessageLite& into);

// Blocks until the suite can read all of it.
void write_framed(std::FILE* to, const google::protobuf::MessageLite& message);

}  // namespace conformance
