// frame_list: a recording as text, one line for each event, or as JSON.
#pragma once

#include <coracle/rpc/recorder.hpp>

#include <functional>
#include <string>

namespace coracle::tools {

// A heading and a line for each event of `from` that `included` accepts.
std::string frame_list(const recording& from, const std::function<bool(const recorded_event&)>& included);
// A line of JSON for each of them.
std::string frame_json(const recording& from, const std::function<bool(const recorded_event&)>& included);

}  // namespace coracle::tools
