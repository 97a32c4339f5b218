// The part that the programs have in common: a gRPC server and its client, beside a timer and a pipe.
#pragma once

#include "foreign_loop.hpp"

// Serves and calls all kinds of method inside the loop, prints what happens, and returns an exit code.
int run_calls(int argc, char** argv, const char* program, foreign_loop& host);
