// The module coracle.console: the module coracle and the console. Link coracle::console_module. Made of the headers by scripts/module_interfaces.py.
module;

#include <coracle/console/console.hpp>

export module coracle.console;

export import coracle;

export namespace coracle {
using coracle::console_options;
using coracle::with_console;
}  // namespace coracle
