// Texts that gpr_free() frees.
#pragma once

#include <grpcpp/impl/one_library.h>

/// Returns a copy; null for null.
char* gpr_strdup(const char* text);
/// Prints into a new text, and returns its length; -1 and null if that fails.
int gpr_asprintf(char** text, const char* format, ...) __attribute__((format(printf, 2, 3)));
