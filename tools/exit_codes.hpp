// exit_codes: how the program ends.
#pragma once

#include <string>

namespace coracle::tools {

// The exit codes 1 to 16 are the status codes of calls.
inline constexpr int exit_usage = 64;
inline constexpr int exit_failure = 65;
inline constexpr int exit_check_failed = 66;
// What a shell reports for SIGPIPE: 128 plus the signal's number.
inline constexpr int exit_reader_closed = 141;

struct exit_code {
  const char* code;
  const char* meaning;
};

// Those of all commands, in order. `health` has codes of its own.
inline constexpr exit_code exit_codes[] = {
    {"0", "Success."},
    {"1 to 16",
     "The status code of the call, or of the reflection call that the command needs: 14 if the server "
     "cannot be reached, 4 if the deadline expired."},
    {"64", "The command line or the configuration file is invalid."},
    {"65",
     "Any other error, such as an unknown method, an invalid request, a reply without a JSON form, output "
     "that cannot be written, or a lack of memory."},
    {"66",
     "A check failed: a threshold of load was not met, diff found a breaking change, replay got "
     "another status or reply, a call of a file of requests did not go as expected, or doctor found a "
     "problem."},
    {"141", "The reader of the output closed its pipe, as head does. The call was cancelled."},
};
inline constexpr exit_code health_exit_codes[] = {
    {"0", "The server serves."}, {"1", "The server does not serve."}, {"2", "There was no answer."}};

// As a table with aligned columns.
[[nodiscard]] std::string exit_code_table();

}  // namespace coracle::tools
