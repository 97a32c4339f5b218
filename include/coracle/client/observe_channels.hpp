// observe_channels(): observers for all channels of a runtime.
#pragma once

#include "coracle/base/impl/requirements.hpp"

#include <functional>
#include <memory>
#include <string_view>

namespace coracle {

class client_observer;
class runtime;

/// Makes the observer of a channel, or returns null if its calls are not to be observed. `target` is the
/// channel's target with its scheme ("dns:///movies.example:443").
using channel_observer_factory = std::function<std::shared_ptr<client_observer>(std::string_view target)>;

/// Gives each channel that is made on the runtime `on` from now on the observer that `make` returns, beside
/// channel_options::observer. Any thread may call this; `make` runs on the threads that make channels,
/// possibly several at once, and is kept until the runtime ends.
void observe_channels(runtime& on, channel_observer_factory make);

}  // namespace coracle
